// Guided explorables: data in (explorables.js), a short lesson out.
import { setPath } from "./toml.js";

const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

/** Text, and below the line what follows an underscore: `t_ρ`, `H_feedback`. */
function symbols(text) {
  return text.split(/(?<=[\p{L}])_([\p{L}\d]+)/u).map((part, i) => (i % 2 === 1 ? make("sub", { textContent: part }) : part));
}

/** The runs of an explorable with one of the values of what is to be changed, and another beside it. */
export function runs(explorable, choice, label, other) {
  const { toml, change, beside } = explorable;
  const set = (text, sets) => Object.entries(sets).reduce((all, [key, value]) => setPath(all, key, value), text);
  const own = set(toml, change.choices[choice].sets);
  if (other !== undefined) {
    return [choice, other].map((one) => ({ toml: set(toml, change.choices[one].sets), label: change.choices[one].label }));
  }
  const lanes = [{ toml: own, label: beside ? label(own) : change.choices[choice].label }];
  if (beside) {
    const other = set(own, beside.sets);
    lanes.push({ toml: other, label: beside.label ?? label(other) });
  }
  return lanes;
}

export function guide({ select, box }, explorables, { open, label }) {
  select.replaceChildren(...explorables.map((one, i) => make("option", { value: one.id, textContent: `${i + 1}. ${one.title}` })));
  select.addEventListener("change", () => show(select.value, true));

  function show(id, run) {
    const one = explorables.find((each) => each.id === id);
    if (!one) return;
    select.value = id;
    const listed = () => one.change.choices.map((choice, i) => make("option", { value: String(i), textContent: choice.label }));
    const choices = make("select", { id: "guide-change" });
    choices.append(...listed());
    const beside = make("select", { id: "guide-beside" });
    beside.append(make("option", { value: "", textContent: "nothing" }), ...listed());
    const chosen = () => [Number(choices.value), beside.value === "" ? undefined : Number(beside.value)];
    const see = make("ul", { id: "guide-see" });
    const look = () => {
      const shown = [...new Set(chosen())].map((i) => one.change.choices[i]).filter((choice) => choice?.see);
      const own = shown.map((choice) => make("li", {}, make("b", { textContent: `${choice.label}: ` }), ...symbols(choice.see)));
      see.replaceChildren(...one.see.map((text) => make("li", {}, ...symbols(text))), ...own);
    };
    const play = () => {
      const [choice, other] = chosen();
      look();
      if (!right()) clear();
      return open(runs(one, choice, label, other), { play: true }, one.charts, one.id);
    };
    for (const each of [choices, beside]) each.addEventListener("change", play);
    const again = make("button", { type: "button", className: "go", textContent: "Run again", id: "guide-run" });
    again.addEventListener("click", play);
    // Where a second scheme stands beside each run, there is no room for another choice.
    const second = one.beside ? [] : [make("label", { htmlFor: "guide-beside", textContent: "Beside it, on the same scales" }), beside];

    const answers = make("fieldset", { className: "answers" }, make("legend", { textContent: one.ask.text }));
    const verdict = make("p", { id: "guide-verdict" });
    verdict.setAttribute("role", "status");
    const inputs = () => [...answers.querySelectorAll("input")];
    const right = () => inputs().some((input) => input.checked && Number(input.value) === one.ask.right);
    const clear = () => {
      verdict.textContent = "";
      for (const input of inputs()) input.checked = false;
    };
    one.ask.options.forEach((text, i) => {
      const input = make("input", { type: "radio", name: "guide-answer", value: String(i) });
      input.addEventListener("change", () => {
        verdict.replaceChildren(...symbols(right() ? `Right. ${one.ask.because}` : `Not quite. ${one.ask.hint}`));
        if (right()) rest.hidden = false;
      });
      answers.append(make("label", {}, input, make("span", {}, ...symbols(text))));
    });
    const rest = make(
      "div",
      { hidden: true, id: "guide-why" },
      make("h2", { textContent: "Why" }),
      ...one.why.map((text) => make("p", {}, ...symbols(text))),
      make("h2", { textContent: "The equation" }),
      make("div", { className: "equation" }, ...one.equation.map((text) => make("p", {}, ...symbols(text)))),
      make("p", {}, ...symbols(one.where)),
      make("p", { className: "hint", textContent: `From ${one.source}.` }),
    );
    const place = explorables.indexOf(one);
    if (place + 1 < explorables.length) {
      const next = make("button", { type: "button", id: "guide-next", textContent: `Next: ${explorables[place + 1].title}` });
      next.addEventListener("click", () => {
        show(explorables[place + 1].id, true);
        select.scrollIntoView({ block: "center" });
        box.querySelector(".question").focus({ preventScroll: true });
      });
      rest.append(next);
    }
    box.replaceChildren(
      make("p", { className: "question", tabIndex: -1, textContent: one.question }),
      make("p", { className: "hint", textContent: one.setup }),
      make("h2", { textContent: "Change this" }),
      make("label", { htmlFor: "guide-change", textContent: one.change.label }),
      choices,
      ...second,
      make("p", { className: "hint", textContent: "A choice runs at once." }),
      again,
      make("h2", { textContent: "Look for this" }),
      see,
      answers,
      verdict,
      rest,
    );
    look();
    return run ? play() : undefined;
  }

  return { open: (id) => show(id, true), select: (id) => show(id, false) };
}

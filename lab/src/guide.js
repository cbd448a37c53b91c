// Guided explorables: data in (explorables.js), a short lesson out.
import { setPath } from "./toml.js";

const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

/** The runs of an explorable with one of the values of what is to be changed. */
export function runs(explorable, choice, label) {
  const { toml, change, beside } = explorable;
  const set = (text, sets) => Object.entries(sets).reduce((all, [key, value]) => setPath(all, key, value), text);
  const own = set(toml, change.choices[choice].sets);
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
    const choices = make("select", { id: "guide-change" });
    choices.append(...one.change.choices.map((choice, i) => make("option", { value: String(i), textContent: choice.label })));
    const play = () => open(runs(one, Number(choices.value), label), { play: true }, one.charts, one.id);
    choices.addEventListener("change", play);
    const again = make("button", { type: "button", className: "go", textContent: "Run it", id: "guide-run" });
    again.addEventListener("click", play);

    const answers = make("fieldset", { className: "answers" }, make("legend", { textContent: one.ask.text }));
    const verdict = make("p", { id: "guide-verdict" });
    verdict.setAttribute("role", "status");
    one.ask.options.forEach((text, i) => {
      const input = make("input", { type: "radio", name: "guide-answer", value: String(i) });
      input.addEventListener("change", () => {
        const right = i === one.ask.right;
        verdict.textContent = right ? `Right. ${one.ask.because}` : "Not quite: look at the run again.";
        if (right) rest.hidden = false;
      });
      answers.append(make("label", {}, input, text));
    });
    const rest = make(
      "div",
      { hidden: true, id: "guide-why" },
      make("h2", { textContent: "Why" }),
      ...one.why.map((textContent) => make("p", { textContent })),
      make("h2", { textContent: "The equation" }),
      ...one.equation.map((textContent) => make("p", { className: "equation", textContent })),
      make("p", { textContent: one.where }),
      make("p", { className: "hint", textContent: `From ${one.source}.` }),
    );
    const place = explorables.indexOf(one);
    if (place + 1 < explorables.length) {
      const next = make("button", { type: "button", id: "guide-next", textContent: `Next: ${explorables[place + 1].title}` });
      next.addEventListener("click", () => show(explorables[place + 1].id, true));
      rest.append(next);
    }
    box.replaceChildren(
      make("p", { className: "question", textContent: one.question }),
      make("h2", { textContent: "Change this" }),
      make("label", { htmlFor: "guide-change", textContent: one.change.label }),
      choices,
      again,
      make("h2", { textContent: "Look for this" }),
      make("ul", {}, ...one.see.map((textContent) => make("li", { textContent }))),
      answers,
      verdict,
      rest,
    );
    return run ? play() : undefined;
  }

  return { open: (id) => show(id, true), select: (id) => show(id, false) };
}

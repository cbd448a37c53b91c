// The editor of a scenario's text. It stands in a shadow root, where its style sheets are objects:
// the content security policy allows no inline style.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { javascript } from "@codemirror/legacy-modes/mode/javascript";
import { setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { keys, place, values } from "./schema.js";

const colors = HighlightStyle.define([
  { tag: tags.comment, color: "var(--ink-soft)", fontStyle: "italic" },
  { tag: [tags.string, tags.atom], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool], color: "var(--code-number)" },
  { tag: [tags.propertyName, tags.keyword, tags.heading], color: "var(--code-key)", fontWeight: "600" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--ink)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-scroller": { fontFamily: "ui-monospace, monospace", maxHeight: "26rem", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--ink-soft)", border: "none" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--select)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line-strong)" },
  ".cm-completionInfo": { maxWidth: "22rem" },
});

function complete(schema) {
  return (context) => {
    const before = context.state.sliceDoc(0, context.pos);
    const { header, path, key } = place(before);
    const word = context.matchBefore(/["\w.-]*/);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    const entry = ({ label, info }) => ({ label, info: info || undefined, type: "property" });
    if (header !== undefined) {
      return { from: context.pos - header.length, options: keys(schema, []).map(entry) };
    }
    if (key === undefined) return { from: word.from, options: keys(schema, path).map(entry) };
    return { from: word.from, options: values(schema, path, key).map((label) => ({ label, type: "constant" })) };
  };
}

/** `apply` is what Ctrl-Enter does; `schema` completes, where there is one. */
export function editor(parent, { label, language, schema, changed, apply }) {
  const root = parent.attachShadow({ mode: "open" });
  const mode = StreamLanguage.define(language === "toml" ? toml : javascript);
  const update = EditorView.updateListener.of((event) => event.docChanged && changed?.(event.state.doc.toString()));
  const extensions = [
    lineNumbers(),
    history(),
    mode,
    syntaxHighlighting(colors),
    look,
    update,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    keymap.of([
      { key: "Mod-Enter", run: () => (apply(), true) },
      ...completionKeymap,
      ...defaultKeymap,
      ...historyKeymap,
    ]),
    ...(schema ? [autocompletion({ override: [complete(schema)] })] : []),
  ];
  const view = new EditorView({ parent: root, root, state: EditorState.create({ doc: "", extensions }) });
  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(content) {
      if (content !== view.state.doc.toString()) {
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: content } });
      }
    },
    /** Marks the line that an error of the engine names, or nothing. */
    mark(message) {
      const number = Number(/^scenario\.toml:(\d+):/.exec(message ?? "")?.[1] ?? 0);
      const known = number >= 1 && number <= view.state.doc.lines;
      const line = known ? view.state.doc.line(number) : undefined;
      const found = line ? [{ from: line.from, to: line.to, severity: "error", message }] : [];
      view.dispatch(setDiagnostics(view.state, found));
    },
    focus: () => view.focus(),
  };
}

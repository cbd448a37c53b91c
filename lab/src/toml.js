// Single keys of a scenario's text: sliders change those lines, and leave the rest as it stands.

const header = /^\s*\[/;
const value = String.raw`"(?:[^"\\]|\\.)*"|'[^']*'|\{[^}]*\}|\[[^\]]*\]|[^#\s][^#]*?`;
const line = (key) => new RegExp(`^(\\s*${key}\\s*=\\s*)(${value})(\\s*(?:#.*)?)$`);

function span(lines, table) {
  const name = new RegExp(`^\\s*\\[\\s*${table.replaceAll(".", String.raw`\s*\.\s*`)}\\s*\\]`);
  const from = table === "" ? -1 : lines.findIndex((one) => name.test(one));
  if (table !== "" && from < 0) return null;
  const next = lines.findIndex((one, place) => place > from && header.test(one));
  return [from + 1, next < 0 ? lines.length : next];
}

/** The value of a key as it is written, without its quotes if it is a string; null: not there. */
export function getKey(text, table, key) {
  const lines = text.split("\n");
  const [from, to] = span(lines, table) ?? [0, 0];
  for (const one of lines.slice(from, to)) {
    const found = line(key).exec(one);
    if (found) return /^["']/.test(found[2]) ? found[2].slice(1, -1) : found[2];
  }
  return null;
}

/** The text with this value, which is written as it is given; in a new table if there is none. */
export function setKey(text, table, key, written) {
  const lines = text.split("\n");
  const found = span(lines, table);
  if (!found) return `${text.trimEnd()}\n\n[${table}]\n${key} = ${written}\n`;
  const [from, to] = found;
  for (let place = from; place < to; place++) {
    const match = line(key).exec(lines[place]);
    if (match) {
      lines[place] = match[1] + written + match[3];
      return lines.join("\n");
    }
  }
  lines.splice(from, 0, `${key} = ${written}`);
  return lines.join("\n");
}

/** The names of the tables `[prefix.NAME]`, in their order. */
export function tables(text, prefix) {
  const pattern = new RegExp(`^\\s*\\[\\s*${prefix}\\s*\\.\\s*([\\w-]+)\\s*\\]`, "gm");
  return [...text.matchAll(pattern)].map((match) => match[1]);
}

/** The text with `path` (`table.key`) set, the value as TOML. */
export function setPath(text, path, written) {
  const dot = path.lastIndexOf(".");
  return setKey(text, path.slice(0, Math.max(dot, 0)), path.slice(dot + 1), written);
}

const literal = /^(?:true|false|[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|"[^"\\]*"|\[.*\]|\{.*\})$/s;

/** The text with each `KEY=VALUE`: a value that is no TOML is a string, as for the command. */
export function withSets(text, sets) {
  return sets.reduce((all, set) => {
    const split = set.indexOf("=");
    const value = set.slice(split + 1).trim();
    return setPath(all, set.slice(0, split).trim(), literal.test(value) ? value : JSON.stringify(value));
  }, text);
}

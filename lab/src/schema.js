// What may stand where in a scenario, from its JSON Schema: for completion.

/** Follows references, and opens choices: all forms that a value may have. */
function forms(schema, node, depth = 0) {
  if (!node || depth > 8) return [];
  if (node.$ref) return forms(schema, schema.$defs[node.$ref.split("/").pop()], depth + 1);
  const inner = [...(node.oneOf ?? []), ...(node.anyOf ?? []), ...(node.allOf ?? [])];
  const own = node.properties || node.enum || node.const !== undefined || node.examples || node.type || node.additionalProperties;
  return [...(own ? [node] : []), ...inner.flatMap((one) => forms(schema, one, depth + 1))];
}

/** A table in [[ ]] is one of a list: what may stand in it is said of the list's items. */
function tables(schema, nodes) {
  return nodes.flatMap((node) => [node, ...(typeof node.items === "object" ? forms(schema, node.items) : [])]);
}

function child(schema, nodes, name) {
  return tables(schema, nodes).flatMap((node) => {
    const found = node.properties?.[name] ?? Object.entries(node.patternProperties ?? {}).find(([pattern]) => new RegExp(pattern).test(name))?.[1];
    const other = typeof node.additionalProperties === "object" ? node.additionalProperties : undefined;
    return forms(schema, found ?? other);
  });
}

/** The keys of the table at `path`, with what is said of them. */
export function keys(schema, path) {
  let nodes = forms(schema, schema);
  for (const name of path) nodes = child(schema, nodes, name);
  const all = new Map();
  for (const node of tables(schema, nodes)) {
    for (const [name, value] of Object.entries(node.properties ?? {})) {
      if (!all.has(name)) all.set(name, value.description ?? forms(schema, value)[0]?.description ?? "");
    }
  }
  return [...all].map(([name, info]) => ({ label: /^[\w-]+$/.test(name) ? name : JSON.stringify(name), info }));
}

/** Values that may stand behind a key, as TOML. */
export function values(schema, path, key) {
  let nodes = forms(schema, schema);
  for (const name of [...path, key]) nodes = child(schema, nodes, name);
  // A list's values are those of its items.
  const words = tables(schema, nodes).flatMap((node) => [
    ...(node.enum ?? []),
    ...(node.const !== undefined ? [node.const] : []),
    ...(node.examples ?? []),
    ...(node.type === "boolean" ? [true, false] : []),
  ]);
  return [...new Set(words.filter((word) => typeof word !== "object").map((word) => JSON.stringify(word)))];
}

/** Where the cursor is: the table's path, and the key if it stands behind one. */
export function place(textBefore) {
  const lines = textBefore.split("\n");
  const last = lines.pop();
  const open = /^\s*\[\[?([^\]]*)$/.exec(last);
  if (open) return { header: open[1].trim() };
  let path = [];
  for (const line of lines) {
    const found = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line);
    if (found) path = found[1].split(".").map((part) => part.trim().replace(/^["']|["']$/g, ""));
  }
  // What stands before the last dot outside quotes are tables, too: vary."topology.rtt".
  const before = /^\s*((?:(?:"[^"]*"|[\w-]+)\s*\.\s*)*)("[^"]*"|[\w-]+)\s*=\s*/.exec(last);
  const within = before?.[1].match(/"[^"]*"|[\w-]+/g) ?? [];
  const plain = (name) => name?.replace(/^"|"$/g, "");
  return { path: [...path, ...within.map(plain)], key: plain(before?.[2]) };
}

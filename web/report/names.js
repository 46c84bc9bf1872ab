// Short names of methods: "cbs 0.7 neutral" for cbs:steer=0.7:contexts=neutral:block=32 where block is the same
// everywhere. They are unique; the full string is shown on hover and written to exports.

// The name of a method and its settings; quotes may hold ":" and "=".
function parsed_method(text) {
  const parts = text.match(/(?:"(?:\\.|[^"\\])*"?|[^:"])+/g) || [text];
  const settings = parts.slice(1).map(part => {
    const at = part.indexOf("=");
    return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1).replace(/^"|"$/g, "")];
  });
  return {name: parts[0], settings};
}
const clip = (text, length) => [...text].length > length ? [...text].slice(0, length - 1).join("") + "\u2026" : text;

function short_names(methods) {
  const plain = new Set(["steer", "contexts", "policy"]);  // their values say enough
  const parsed = methods.map(parsed_method);
  const value_of = (m, setting) => (m.settings.find(([key]) => key === setting) || [])[1];
  const same = (name, setting) => {  // with one value for all of that name or, if it is alone, for all that have the setting
    const namesakes = parsed.filter(m => m.name === name);
    const values = (namesakes.length > 1 ? namesakes : parsed.filter(m => value_of(m, setting) !== undefined)).map(m => value_of(m, setting));
    return values.length > 1 && values.every(value => value === values[0]);
  };
  const shown = (m, all) => [m.name, ...m.settings.filter(([key]) => all || !same(m.name, key)).map(
    ([key, value]) => value === "" ? key : plain.has(key) && !all ? clip(value, 20) : `${key} ${clip(value, 20)}`)].join(" ");
  const unique = names => names.map((name, i) => names.filter(other => other === name).length < 2 ? name : undefined);
  const short = unique(parsed.map(m => clip(shown(m, false), 34)));
  const longer = unique(parsed.map(m => clip(shown(m, true), 60)));
  const result = [];
  methods.forEach((method, i) => {
    let name = short[i] ?? longer[i] ?? `${clip(method, 28)} #${i + 1}`;
    while (result.includes(name)) name += "'";
    result.push(name);
  });
  return new Map(methods.map((method, i) => [method, result[i]]));
}

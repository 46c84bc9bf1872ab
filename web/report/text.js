// Texts of questions and answers: formulas as MathML, code blocks in colour, the rest as it is.
const CODE = /(#[^\n]*)|("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b|\b(\d+(?:\.\d+)?)\b/g;

function highlighted(parent, code) {
  let end = 0;
  for (const match of code.matchAll(CODE)) {
    parent.append(code.slice(end, match.index));
    const kind = match[1] ? "note" : match[2] ? "string" : match[3] ? "word" : "number";
    make("span", parent, match[0], {class: `code-${kind}`});
    end = match.index + match[0].length;
  }
  parent.append(code.slice(end));
}
// Where the group of braces that opens at `at` ends, or -1.
function group_end(text, at) {
  for (let i = at, open = 0; i < text.length; ++i) {
    if (text[i] === "\\") ++i;
    else if (text[i] === "{") ++open;
    else if (text[i] === "}" && --open === 0) return i + 1;
  }
  return -1;
}
// The parts of a text: {kind: "text" | "code" | "math" | "block", text, source}.
function parts_of(text) {
  const start = /```|\$\$|\\\[|\\\(|\$|\\boxed\s*(?=\{)|\\begin\{[A-Za-z]+\*?\}/g, parts = [];
  let done = 0;
  const take = (from, inner, to, kind) => {
    if (from > done) parts.push({kind: "text", text: text.slice(done, from)});
    parts.push({kind, text: inner});
    done = start.lastIndex = to;
  };
  for (let match; (match = start.exec(text)); ) {
    const at = match.index, mark = match[0], body = at + mark.length;
    if (mark === "```") {
      const close = text.indexOf("```", body), to = close < 0 ? text.length : close;
      take(at, text.slice(body, to).replace(/^[A-Za-z+]*\n/, "").replace(/\n$/, ""), close < 0 ? to : to + 3, "code");
    } else if (mark === "$$" || mark === "\\[" || mark === "\\(") {
      const end = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}[mark], close = text.indexOf(end, body);
      if (close > body) take(at, text.slice(body, close), close + 2, mark === "\\(" ? "math" : "block");
    } else if (mark === "$") {  // not "costs $5 and $6": no space inside the marks, no digit after them
      const close = /^((?:\\[\s\S]|[^$\\\n])*?)\$(?!\d)/.exec(text.slice(body, body + 2000));
      if (close && close[1] && !/^\s|\s$/.test(close[1])) take(at, close[1], body + close[0].length, "math");
    } else if (mark.startsWith("\\begin")) {
      const end = mark.replace("begin", "end"), close = text.indexOf(end, body);
      if (close > 0) take(at, text.slice(at, close + end.length), close + end.length, "block");
    } else {
      const close = group_end(text, body);
      if (close > 0) take(at, text.slice(at, close), close, "math");
    }
  }
  if (done < text.length) parts.push({kind: "text", text: text.slice(done)});
  return parts;
}
function render_text(parent, text, raw = false) {
  parent.replaceChildren();
  parent.classList.toggle("raw", raw);
  if (raw) { parent.append(text); return; }
  for (const part of parts_of(text)) {
    if (part.kind === "text") parent.append(part.text);
    else if (part.kind === "code") highlighted(make("pre", parent), part.text);
    else parent.append(tex_to_mathml(part.text, part.kind === "block"));
  }
}
const looks_like_code = text => /^\s*(def|class|import|from|assert|METADATA)\b/m.test(text) && text.includes("\n");

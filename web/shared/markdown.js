// Answers as people read them: headings, lists, quotes, emphasis, code and formulas. Text only ever becomes text nodes, and a
// link is one only if it leads to http or https.
const HELD = 0xe000;  // private characters stand for inline formulas, and for themselves, while lines are read

function render_inline(parent, text, held) {
  const pattern = /`([^`]+)`|\*\*(?=\S)([^*]+?)\*\*|(?<![\w*])\*(?=\S)([^*\n]+?)\*(?![\w*])|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)|[\ue000-\uf8ff]/gu;
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    parent.append(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[1] !== undefined) make("code", parent, match[1].replace(/[\ue000-\uf8ff]/gu, c => held[c.charCodeAt(0) - HELD].source));
    else if (match[2] !== undefined) render_inline(make("strong", parent), match[2], held);
    else if (match[3] !== undefined) render_inline(make("em", parent), match[3], held);
    else if (match[4] !== undefined) make("a", parent, match[4], {href: match[5], rel: "noopener noreferrer", target: "_blank"});
    else {
      const {formula, source} = held[match[0].charCodeAt(0) - HELD];
      parent.append(formula ? tex_to_mathml(formula) : source);
    }
  }
  parent.append(text.slice(end));
}
// Lines without fenced code and displayed formulas.
function render_lines(parent, text, held) {
  let list, paragraph;
  const close = () => { list = paragraph = undefined; }, lines = text.split("\n");
  for (let i = 0; i < lines.length; ++i) {
    const line = lines[i];
    if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] ?? "") && lines[i + 1].includes("|")) {
      close();
      const past = lines.findIndex((row, at) => at > i && !row.includes("|")), end = past < 0 ? lines.length : past;
      render_table(parent, lines.slice(i, end), held);
      i = end - 1;
      continue;
    }
    const item = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/.exec(line), heading = /^(#{1,6})\s+(.*)$/.exec(line), quote = /^>\s?(.*)$/.exec(line);
    if (!line.trim()) close();
    else if (heading) {
      close();
      render_inline(make("p", parent, undefined, {class: "heading", role: "heading", "aria-level": Math.min(6, heading[1].length + 3)}), heading[2], held);
    } else if (/^\s*([-*_])\s*(\1\s*){2,}$/.test(line)) {
      close();
      make("hr", parent);
    } else if (item) {
      const kind = item[1] === undefined ? "ul" : "ol";
      if (!list || list.localName !== kind) list = make(kind, parent, undefined, kind === "ol" ? {start: item[1]} : {});
      paragraph = undefined;
      render_inline(make("li", list), item[2], held);
    } else if (quote) {
      close();
      render_inline(make("blockquote", parent), quote[1], held);
    } else if (list && /^\s{2,}/.test(line)) {
      list.lastChild.append("\n");
      render_inline(list.lastChild, line.trim(), held);
    } else {
      list = undefined;
      if (paragraph) paragraph.append("\n");
      else paragraph = make("p", parent);
      render_inline(paragraph, line, held);
    }
  }
}
// Lines of a table: heading, marks, rows.
function render_table(parent, lines, held) {
  const table = make("table", make("div", parent, undefined, {class: "scroll", tabindex: 0, role: "region", "aria-label": "Table"}));
  const cells = line => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/);
  lines.forEach((line, i) => {
    if (i === 1) return;
    const row = make("tr", table);
    for (const cell of cells(line)) render_inline(make(i ? "td" : "th", row, undefined, {class: "text", ...(i ? {} : {scope: "col"})}), cell.trim().replaceAll("\\|", "|"), held);
  });
}
function render_markdown(parent, text) {
  parent.replaceChildren();
  let flow = "";
  const held = [], most = 0xf8ff - HELD;
  const hold = entry => held.length > most ? entry.source : String.fromCharCode(HELD + held.push(entry) - 1), hold_character = source => held.length > most ? "" : hold({source});
  const flush = () => {
    if (flow.trim()) render_lines(parent, flow.replace(/^\n+|\n+$/g, ""), held);
    flow = "";
  };
  for (const part of parts_of(text)) {
    if (part.kind === "text") flow += part.text.replace(/[\ue000-\uf8ff]/g, hold_character);
    else if (part.kind === "math") flow += hold({formula: part.text, source: part.text.startsWith("\\boxed") ? part.text : `$${part.text}$`});
    else {
      flush();
      if (part.kind === "code") code_box(parent, part.text);
      else parent.append(tex_to_mathml(part.text, true));
    }
  }
  flush();
}
function code_box(parent, code) {
  const box = make("div", parent, undefined, {class: "code"});
  highlighted(make("pre", box, undefined, {tabindex: 0}), code);
  button(box, "copy", event => {
    navigator.clipboard?.writeText(code);
    event.target.textContent = "copied";
  }, {class: "quiet copy", "aria-label": "Copy the code"});
}

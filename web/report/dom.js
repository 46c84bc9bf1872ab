// Elements and numbers. Text of users and models only ever enters the page as text nodes.
const SVG = "http://www.w3.org/2000/svg";

function with_attributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "style") element.style.cssText = value;  // a content security policy may forbid the attribute
    else element.setAttribute(name, value);
  }
  return element;
}
function make(name, parent, text, attributes) {
  const element = with_attributes(document.createElement(name), attributes);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}
function svg(name, parent, attributes, text) {
  const element = with_attributes(document.createElementNS(SVG, name), attributes);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}
const by_id = id => document.getElementById(id);

// A row of a table; `texts` are the columns aligned to the left. The first cell of a body row is its heading.
function table_row(table, cells, tag = "td", texts = []) {
  const row = make("tr", table);
  cells.forEach((cell, i) => {
    const heading = tag === "th" || i === 0;
    make(heading ? "th" : "td", row, cell, {
      ...(heading ? {scope: tag === "th" ? "col" : "row"} : {}), ...(texts.includes(i) ? {class: "text"} : {})});
  });
  return row;
}
function options(select, entries) {
  for (const [value, text] of entries) make("option", select, text, {value});
}
function button(parent, text, action, attributes) {
  const element = make("button", parent, text, {type: "button", ...attributes});
  element.addEventListener("click", action);
  return element;
}
// Links to the sections of the page.
function show_sections() {
  for (const section of document.querySelectorAll("main > section:not([hidden])"))
    make("a", by_id("sections"), section.querySelector("h2").textContent, {href: `#${section.id}`});
}

const MINUS = "\u2212";
const percent = x => (100 * x).toFixed(1);
const signed = x => (percent(Math.abs(x)) === "0.0" ? "" : x > 0 ? "+" : MINUS) + percent(Math.abs(x));
const whole = x => Math.round(x).toLocaleString("en");
const probability = p => p < 0.0001 ? "p < 0.0001" : `p = ${p.toPrecision(2)}`;
const mean = list => list.length ? list.reduce((sum, x) => sum + x, 0) / list.length : 0;
const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

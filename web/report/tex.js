// TeX formulas as MathML: the part of TeX that mathematical answers use. Unknown commands are shown as text, and
// no input throws.
const MATHML = "http://www.w3.org/1998/Math/MathML";
const TEX_LETTERS = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ϵ", varepsilon: "ε", zeta: "ζ", eta: "η", theta: "θ", vartheta: "ϑ", iota: "ι", kappa: "κ",
  lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", upsilon: "υ", phi: "ϕ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω",
  Gamma: "Γ", Delta: "Δ", Theta: "Θ", Lambda: "Λ", Xi: "Ξ", Pi: "Π", Sigma: "Σ", Upsilon: "Υ", Phi: "Φ", Psi: "Ψ", Omega: "Ω",
  infty: "∞", emptyset: "∅", varnothing: "∅", ell: "ℓ", Re: "ℜ", Im: "ℑ", hbar: "ℏ", partial: "∂", nabla: "∇", aleph: "ℵ", degree: "°"};
const TEX_SIGNS = {
  cdot: "⋅", times: "×", div: "÷", pm: "±", mp: "∓", ast: "∗", star: "⋆", circ: "∘", bullet: "•", oplus: "⊕", otimes: "⊗", le: "≤", leq: "≤", leqslant: "≤",
  ge: "≥", geq: "≥", geqslant: "≥", ne: "≠", neq: "≠", approx: "≈", equiv: "≡", sim: "∼", cong: "≅", propto: "∝", ll: "≪", gg: "≫", in: "∈", notin: "∉",
  ni: "∋", subset: "⊂", subseteq: "⊆", supset: "⊃", supseteq: "⊇", cup: "∪", cap: "∩", setminus: "∖", mid: "∣", nmid: "∤", parallel: "∥", perp: "⊥", to: "→",
  rightarrow: "→", leftarrow: "←", Rightarrow: "⇒", Leftarrow: "⇐", implies: "⟹", iff: "⟺", Leftrightarrow: "⇔", leftrightarrow: "↔", mapsto: "↦",
  longrightarrow: "⟶", forall: "∀", exists: "∃", neg: "¬", lnot: "¬", land: "∧", wedge: "∧", lor: "∨", vee: "∨", ldots: "…", dots: "…", cdots: "⋯", vdots: "⋮",
  ddots: "⋱", angle: "∠", triangle: "△", square: "□", therefore: "∴", because: "∵", prime: "′", lfloor: "⌊", rfloor: "⌋", lceil: "⌈", rceil: "⌉", langle: "⟨",
  rangle: "⟩", lvert: "|", rvert: "|", vert: "|", lVert: "‖", rVert: "‖", Vert: "‖", "|": "‖", "{": "{", "}": "}", lbrace: "{", rbrace: "}", backslash: "\\",
  colon: ":", "%": "%", "$": "$", "#": "#", "&": "&", "_": "_"};
const TEX_LARGE = {sum: "∑", prod: "∏", int: "∫", iint: "∬", oint: "∮", bigcup: "⋃", bigcap: "⋂", coprod: "∐"};
const TEX_NAMES = new Set(["sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "ln", "lg", "exp", "det", "dim",
                           "ker", "gcd", "lcm", "deg", "arg", "hom", "Pr"]);
const TEX_LIMITS = new Set(["lim", "max", "min", "sup", "inf", "limsup", "liminf"]);
const TEX_SPACES = {",": 0.17, ":": 0.22, ">": 0.22, ";": 0.28, "!": -0.17, " ": 0.25, quad: 1, qquad: 2, "~": 0.25};
const TEX_ACCENTS = {hat: "^", widehat: "^", bar: "¯", overline: "¯", vec: "→", overrightarrow: "→", tilde: "~", widetilde: "~", dot: "˙", ddot: "¨"};
const TEX_TEXT = new Set(["text", "textbf", "textit", "textrm", "textsf", "texttt", "mbox", "hbox", "textnormal", "operatorname"]);
const TEX_FONTS = {mathbf: "bold", boldsymbol: "bold", bm: "bold", mathrm: "normal", mathit: "italic", mathbb: "double", mathcal: "normal", mathsf: "normal", mathfrak: "normal"};
const TEX_DOUBLE = {R: "ℝ", N: "ℕ", Z: "ℤ", Q: "ℚ", C: "ℂ", P: "ℙ", H: "ℍ"};
const TEX_IGNORED = new Set(["displaystyle", "textstyle", "scriptstyle", "limits", "nolimits", "bigl", "bigr", "big", "Big", "Bigl", "Bigr", "bigg", "Bigg", "biggl",
                             "biggr", "middle", "hline", "nonumber", "notag", "allowbreak", "mathstrut"]);
const TEX_BRACKETS = {matrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], Bmatrix: ["{", "}"], vmatrix: ["|", "|"], Vmatrix: ["‖", "‖"], cases: ["{", ""],
                      array: ["", ""], aligned: ["", ""], align: ["", ""], "align*": ["", ""], gathered: ["", ""], split: ["", ""], smallmatrix: ["", ""], equation: ["", ""], "equation*": ["", ""]};

class TexReader {
  constructor(text) {
    this.tokens = text.match(/\\[A-Za-z]+\*?|\\[\s\S]|\d+(?:[.,]\d+)*|\s+|[\s\S]/gu) || [];
    this.at = 0;
    this.depth = 0;
  }
  peek() { return this.tokens[this.at]; }
  skip_space() { while (/^\s/.test(this.peek() || "")) ++this.at; }

  element(name, children = [], attributes = {}) {
    const element = with_attributes(document.createElementNS(MATHML, name), attributes);
    element.append(...children);
    return element;
  }
  sign(text, attributes) { return this.element("mo", [text], attributes); }
  row(nodes) { return nodes.length === 1 ? nodes[0] : this.element("mrow", nodes); }

  // Nodes up to one of the tokens in `ends`, which is not consumed.
  list(ends = []) {
    const nodes = [];
    if (++this.depth > 60) {  // deeper than any formula; the rest stays text
      nodes.push(this.element("mtext", [this.tokens.slice(this.at).join("")]));
      this.at = this.tokens.length;
    }
    for (this.skip_space(); this.at < this.tokens.length && !ends.includes(this.peek()); this.skip_space()) {
      const node = this.scripted(nodes);
      if (node) nodes.push(node);
    }
    --this.depth;
    return nodes;
  }
  // The text between the braces that follow, unread.
  raw_group() {
    this.skip_space();
    if (this.peek() !== "{") return this.at < this.tokens.length ? this.tokens[this.at++] : "";
    let open = 0, text = "";
    for (; this.at < this.tokens.length; ++this.at) {
      const token = this.peek();
      if (token === "{" && open++ === 0) continue;
      if (token === "}" && --open === 0) { ++this.at; break; }
      text += token;
    }
    return text;
  }
  // One argument: a group, a command with its arguments, or a single digit or letter.
  argument() {
    this.skip_space();
    const token = this.peek();
    if (token === undefined) return this.element("mrow");
    if (token === "{") {
      ++this.at;
      const nodes = this.list(["}"]);
      ++this.at;
      return this.row(nodes);
    }
    if (/^\d{2}|^\d[.,]/.test(token)) {  // \frac12 is one half
      this.tokens.splice(this.at, 1, ...token);
      return this.argument();
    }
    if (token === "}" || token === "^" || token === "_" || token === "&") return this.element("mrow");
    return this.atom() || this.element("mrow");
  }
  // An atom with its subscript and superscript.
  scripted(before) {
    const token = this.peek();
    let base, under = false;
    if (token === "^" || token === "_" || token === "'") base = before.pop() || this.element("mrow");
    else {
      const name = token.slice(1);
      under = token[0] === "\\" && (name in TEX_LARGE && !name.endsWith("int") || TEX_LIMITS.has(name) || name === "underbrace" || name === "overbrace");
      base = this.atom();
    }
    if (!base) return undefined;
    let low, high;
    for (this.skip_space(); ["^", "_", "'"].includes(this.peek()); this.skip_space()) {
      const kind = this.tokens[this.at++];
      if (kind === "'") high = high ? this.row([high, this.sign("′")]) : this.sign("′");
      else if (kind === "^") { const more = this.argument(); high = high ? this.row([high, more]) : more; }
      else low = this.argument();
    }
    if (high && high.localName === "mo" && high.textContent === "∘") high = this.element("mi", ["°"]), high.setAttribute("mathvariant", "normal");
    const kinds = under ? ["munderover", "munder", "mover"] : ["msubsup", "msub", "msup"];
    return low && high ? this.element(kinds[0], [base, low, high]) : low ? this.element(kinds[1], [base, low]) : high ? this.element(kinds[2], [base, high]) : base;
  }
  atom() {
    const token = this.tokens[this.at++];
    if (token === "{") {
      const nodes = this.list(["}"]);
      ++this.at;
      return this.row(nodes);
    }
    if (token[0] === "\\" && token.length > 1) return this.command(token.slice(1));
    if (/^\d/.test(token)) return this.element("mn", [token]);
    if (/^\p{L}$/u.test(token)) return this.element("mi", [token]);
    if (token === "-") return this.sign("−");
    if (token === "~") return this.element("mspace", [], {width: "0.25em"});
    if (token === "}" || token === "&") return undefined;  // without a partner
    return this.sign(token, "()[]|".includes(token) ? {stretchy: "false"} : {});
  }
  command(name) {
    if (name in TEX_LETTERS) return this.element("mi", [TEX_LETTERS[name]]);
    if (name in TEX_SIGNS) return this.sign(TEX_SIGNS[name], {stretchy: "false"});
    if (name in TEX_LARGE) return this.sign(TEX_LARGE[name], {largeop: "true"});
    if (TEX_NAMES.has(name) || TEX_LIMITS.has(name)) return this.element("mrow", [this.element("mi", [name]), this.element("mspace", [], {width: "0.1em"})]);
    if (name in TEX_SPACES || name === "\n") return this.element("mspace", [], {width: `${TEX_SPACES[name] ?? 0.25}em`});
    if (TEX_TEXT.has(name)) return this.element("mtext", [this.raw_group().replaceAll("~", "\u00a0")]);
    if (name in TEX_FONTS) return this.font(TEX_FONTS[name]);
    if (name in TEX_ACCENTS) return this.element("mover", [this.argument(), this.sign(TEX_ACCENTS[name], {stretchy: String(/^over|^wide/.test(name))})], {accent: "true"});
    if (TEX_IGNORED.has(name)) return undefined;
    if (name === "\\" || name === "newline" || name === "cr") return this.element("mspace", [], {linebreak: "newline", width: "1em"});
    switch (name) {
      case "frac": case "dfrac": case "tfrac": case "cfrac": return this.element("mfrac", [this.argument(), this.argument()]);
      case "binom": case "dbinom": case "tbinom":
        return this.element("mrow", [this.sign("("), this.element("mfrac", [this.argument(), this.argument()], {linethickness: "0"}), this.sign(")")]);
      case "sqrt": return this.root();
      case "boxed": case "fbox": return this.element("mrow", [this.argument()], {class: "boxed"});
      case "left": return this.fenced();
      case "right": ++this.at; return undefined;  // without a partner
      case "begin": return this.environment();
      case "end": this.raw_group(); return undefined;
      case "underline": return this.element("munder", [this.argument(), this.sign("_", {stretchy: "true"})]);
      case "underbrace": return this.element("munder", [this.argument(), this.sign("⏟", {stretchy: "true"})]);
      case "overbrace": return this.element("mover", [this.argument(), this.sign("⏞", {stretchy: "true"})]);
      case "overset": case "stackrel": { const over = this.argument(); return this.element("mover", [this.argument(), over]); }
      case "underset": { const below = this.argument(); return this.element("munder", [this.argument(), below]); }
      case "bmod": case "mod": return this.element("mtext", [" mod "]);
      case "pmod": return this.element("mrow", [this.element("mtext", [" (mod "]), this.argument(), this.element("mtext", [")"])]);
      case "not": return this.element("mrow", [this.argument(), this.sign("\u0338")]);
      case "phantom": case "hspace": case "vspace": case "color": case "label": case "tag": this.raw_group(); return undefined;
      default: return this.element("mtext", [`\\${name}`]);
    }
  }
  font(kind) {
    const node = this.argument();
    const change = text => kind === "double" ? [...text].map(c => TEX_DOUBLE[c] || c).join("") : text;
    for (const leaf of node.localName === "mi" ? [node] : node.querySelectorAll("mi")) {
      leaf.textContent = change(leaf.textContent);
      if (kind === "normal" || kind === "double") leaf.setAttribute("mathvariant", "normal");
      if (kind === "bold") leaf.style.fontWeight = "bold";
    }
    return node;
  }
  root() {
    this.skip_space();
    if (this.peek() !== "[") return this.element("msqrt", [this.argument()]);
    ++this.at;
    const index = this.row(this.list(["]"]));
    ++this.at;
    return this.element("mroot", [this.argument(), index]);
  }
  bracket() {
    this.skip_space();
    const token = this.tokens[this.at++] || ".";
    return token === "." ? "" : token[0] === "\\" ? TEX_SIGNS[token.slice(1)] || token : token;
  }
  fenced() {
    const open = this.bracket(), nodes = this.list(["\\right"]);
    if (this.peek() === "\\right") ++this.at;
    else return this.element("mrow", [this.sign(open, {stretchy: "true"}), ...nodes]);
    const close = this.bracket();
    return this.element("mrow", [...(open ? [this.sign(open, {stretchy: "true"})] : []), ...nodes, ...(close ? [this.sign(close, {stretchy: "true"})] : [])]);
  }
  environment() {
    const name = this.raw_group(), [open, close] = TEX_BRACKETS[name] || ["", ""], rows = [];
    if (name === "array") { this.skip_space(); if (this.peek() === "{") this.raw_group(); }
    let cells = [];
    while (this.at < this.tokens.length) {
      cells.push(this.element("mtd", this.list(["&", "\\\\", "\\end"]), name === "cases" || name.startsWith("align") ? {style: "text-align: left"} : {}));
      const end = this.tokens[this.at++];
      if (end === "&") continue;
      rows.push(this.element("mtr", cells));
      cells = [];
      if (end === "\\end" || end === undefined) { this.raw_group(); break; }
    }
    return this.element("mrow", [...(open ? [this.sign(open, {stretchy: "true"})] : []), this.element("mtable", rows), ...(close ? [this.sign(close, {stretchy: "true"})] : [])]);
  }
}
// The formula as a math element; its source is the title.
function tex_to_mathml(source, block = false) {
  const math = document.createElementNS(MATHML, "math");
  math.setAttribute("title", source);
  if (block) math.setAttribute("display", "block");
  try {
    const reader = new TexReader(source), nodes = [];
    while (reader.at < reader.tokens.length) {
      nodes.push(...reader.list());
      ++reader.at;  // an end without its beginning
    }
    const row = document.createElementNS(MATHML, "mrow");
    row.append(...nodes);
    math.append(row);
  } catch (error) {
    const text = document.createElementNS(MATHML, "mtext");
    text.textContent = source;
    math.replaceChildren(text);
  }
  return math;
}

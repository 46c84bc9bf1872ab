// The recorded pool ranked at another steering strength: what would have been chosen from these answers.
function ranked_pool(model, steer) {
  return model.pool.map(node => ({node, score: model.score_at(node, steer)})).sort((a, b) => b.score - a.score || a.node.id - b.node.id);
}
class SteerPanel {
  constructor(parent, tree) {
    this.tree = tree;
    this.box = make("section", parent, undefined, {class: "steer", "aria-label": "Another steering strength", hidden: ""});
    const row = make("div", this.box, undefined, {class: "steer-row"});
    const label = make("label", row, "steer ");
    this.slider = make("input", label, undefined, {type: "range", min: 0, step: 0.01, "aria-describedby": "steer-words"});
    this.value = make("output", row, "");
    this.reset = button(row, "as it ran", () => this.set(this.own), {class: "quiet"});
    this.words = make("p", this.box, undefined, {id: "steer-words", class: "steer-words", "aria-live": "polite"});
    this.list = make("ol", this.box, undefined, {class: "pool", "aria-label": "The pool, best first"});
    make("p", this.box, "Only the recorded answers are ranked again. With another strength the search itself would have kept other beams.", {class: "note"});
    this.slider.addEventListener("input", () => this.update());
  }
  // Shown when the search is over and its answers were scored under two contexts.
  show(model) {
    this.model = model;
    this.box.hidden = !model.contrast || !model.pool.length;
    if (this.box.hidden) { this.tree.other = new Set(); return; }
    this.own = Number(model.settings.steer ?? 0);
    this.slider.max = Math.max(2, 2 * Math.abs(this.own));
    this.slider.min = Math.min(0, 2 * this.own);
    this.set(this.own);
  }
  set(steer) {
    this.slider.value = steer;
    this.update();
  }
  update() {
    const steer = Number(this.slider.value), ranking = ranked_pool(this.model, steer), first = ranking[0].node, chosen = this.model.selected;
    this.value.textContent = steer.toFixed(2);
    this.slider.setAttribute("aria-valuetext", `steer ${steer.toFixed(2)}`);
    this.tree.other = first === chosen ? new Set() : new Set(this.model.path(first));
    this.say(steer, first, chosen);
    this.list.replaceChildren();
    for (const {node, score} of ranking.slice(0, 5)) {
      const item = make("li", this.list);
      button(item, `candidate ${node.id}`, () => this.tree.select(node), {class: "link"});
      make("span", item, fixed(score), {class: "figure"});
      make("span", item, clip_text(this.model.answer_text(node)), {class: "words"});
      if (node === chosen) make("span", item, "the answer", {class: "badge chosen"});
    }
    this.tree.redraw();
  }
  say(steer, first, chosen) {
    const name = steer === 0 ? "Beam search" : `Contrastive beam search at ${steer.toFixed(2)}`;
    this.words.replaceChildren();
    if (steer === this.own) this.words.append("The strength of the run. The best of the pool is ");
    else if (first === chosen) this.words.append(`${name} would have chosen the same one: `);
    else this.words.append(`${name} would have chosen this one: `);
    button(this.words, `candidate ${first.id}`, () => this.tree.select(first), {class: "link would-choose"});
    this.words.append(".");
  }
}
// The end of an answer: that is where its result is.
function clip_text(text) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 48 ? `\u2026${line.slice(-48)}` : line;
}

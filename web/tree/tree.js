// The search tree: the drawing with its controls in one element, the chosen candidate in another. Used by the page of a trace
// and by the chat. `hooks`: on_select(node), on_continue(node, model), both optional. The steering strength and the table of a
// block are put into `extras`.
const KEYS = "Arrow keys move between candidates, plus and minus zoom, 0 shows all, Home the answer, Space plays the search, C compares";

class TreeView {
  constructor(place, panel, hooks = {}, extras = place) {
    this.hooks = hooks;
    this.panel = panel;
    this.model = new TraceModel();
    this.layout = new TreeLayout(this.model);
    this.view = new Viewport();
    this.shown = 0;
    this.chosen = new Set();
    this.other = new Set();
    place.classList.add("tree");
    extras.classList.add("tree");
    this.toolbar(place);
    this.area = make("div", place, undefined, {class: "tree-area", role: "tree", tabindex: 0, "aria-label": `Search tree, a level per block. ${KEYS}.`});
    this.drawing = new TreeDrawing(make("canvas", this.area, undefined, {"aria-hidden": "true"}));
    this.item = make("div", this.area, "", {class: "unseen", role: "treeitem", id: `item-${++TreeView.count}`});
    this.legend = make("div", place, undefined, {class: "legend"});
    this.steer = new SteerPanel(extras, this);
    this.table = make("details", extras, undefined, {class: "block-table"});
    make("summary", this.table, "Candidates as a table");
    this.table.addEventListener("toggle", () => this.current && show_block_table(this.table, this, this.current.block));
    watch_pointer(this, this.area);
    watch_keys(this, this.area);
    new ResizeObserver(() => this.resize()).observe(this.area);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
  }
  toolbar(place) {
    const bar = make("div", place, undefined, {class: "tree-bar"});
    this.replay = new Replay(bar, this);
    const label = make("label", bar, "height by "), select = make("select", label, undefined, {class: "vertical"});
    options(select, [["score", "score"], ["rank", "place in the block"]]);
    select.addEventListener("change", () => { this.vertical = select.value; this.lay_out(); });
    const zoom = make("div", bar, undefined, {class: "zoom", role: "group", "aria-label": "Zoom"});
    const press = (sign, title, action, name) => button(zoom, sign, () => { action(); this.redraw(); }, {title, "aria-label": title, class: name});
    press(MINUS, "Zoom out", () => this.view.zoom(0.75), "out");
    press("+", "Zoom in", () => this.view.zoom(1.33), "in");
    press("Fit", "Show the whole tree", () => this.view.fit(this.layout), "fit");
  }

  // A whole trace, or the beginning of one that is still running.
  show(model, chosen_id) {
    this.model = model;
    this.pinned = this.current = this.followed = undefined;
    this.shown = model.blocks.length;
    this.replay.stop();
    this.settle();
    this.view.fit(this.layout);
    const node = model.nodes.get(chosen_id) ?? model.best();
    if (node) this.select(node, false);
    else this.panel.replaceChildren(make("p", undefined, "The tree grows here while the search runs.", {class: "note"}));
  }
  // The model got another block, or its end. The view follows unless the reader has moved it.
  grew() {
    const followed = !this.current || this.current === this.followed;
    this.shown = this.model.blocks.length;
    this.settle();
    if (!this.view.touched) this.view.fit(this.layout);
    if (followed && this.model.best()) {
      this.followed = this.model.best();
      this.select(this.followed, false);
    }
  }
  settle() {
    this.chosen = new Set(this.model.selected ? this.model.path(this.model.selected) : []);
    this.lay_out();
    this.show_legend();
    this.steer.show(this.model);
    this.replay.update();
  }
  lay_out() {
    this.layout = new TreeLayout(this.model, this.vertical);
    this.redraw();
  }
  show_blocks(count) {
    this.shown = count;
    this.replay.update();
    if (this.current && this.current.block >= count) this.select(this.model.path(this.current)[count - 1], false);
    this.redraw();
  }
  select(node, move = true) {
    this.current = node;
    if (node.block >= this.shown) this.shown = node.block + 1;
    if (move) this.view.reveal(node);
    this.describe(node);
    if (this.pinned && this.pinned !== node) show_comparison_of(this.panel, this, this.pinned, node);
    else show_candidate(this.panel, this, node);
    show_block_table(this.table, this, node.block);
    this.replay.update();
    this.redraw();
    if (this.hooks.on_select) this.hooks.on_select(node);
  }
  // Marks a candidate that the next selected ones are compared with; the same again ends that.
  pin(node) {
    this.pinned = this.pinned === node ? undefined : node;
    this.select(this.current, false);
  }
  // What a screen reader says of the node.
  describe(node) {
    const words = [`Candidate ${node.id}`, FATES[node.fate] ?? node.fate, `score ${fixed(node.score)}`];
    if (this.model.contrast) words.push(`reward ${with_sign(node.reward)} per token`);
    if (node.copies.length > 1) words.push(`${node.copies.length} copies`);
    if (this.chosen.has(node)) words.push("on the path to the answer");
    with_attributes(this.item, {"aria-label": words.join(", "), "aria-level": node.block + 1, "aria-posinset": node.row + 1,
                                "aria-setsize": this.model.blocks[node.block].length, "aria-selected": "true"});
    this.area.setAttribute("aria-activedescendant", this.item.id);
  }
  show_legend() {
    this.legend.replaceChildren();
    const entry = (kind, text) => {
      const item = make("span", this.legend, undefined, {class: "entry"});
      make("i", item, undefined, {class: `mark ${kind}`, "aria-hidden": "true"});
      item.append(text);
    };
    for (const [kind, text] of [["kept", "went on"], ["pruned", "pruned"], ["finished", "finished"], ["line", "pruning line"], ["path", "the answer"]]) entry(kind, text);
    const only = this.model.settings.contrast;
    if (this.model.contrast) {
      entry("other", "chosen at another steer");
      const scale = make("span", this.legend, undefined, {class: "entry"});
      scale.append(`likelier after the ${only === "positive" ? "plain prompt" : "negative context"} `);
      make("i", scale, undefined, {class: "reward-scale", "aria-hidden": "true"});
      scale.append(` ${only === "negative" ? "plain prompt" : "positive"}`);
    }
  }

  // The drawing.
  resize() {
    const {width, height} = this.area.getBoundingClientRect();
    if (!width || !height) return;
    Object.assign(this.view, {width, height});
    this.drawing.resize(width, height);
    if (!this.view.touched) this.view.fit(this.layout);
    this.redraw();
  }
  repaint() {
    this.palette = undefined;
    this.redraw();
  }
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (!this.drawing.rows) return;
      this.palette ??= new Palette(this.area);
      this.drawing.draw(this);
    });
  }
  node_at({x, y}, reach = 14) {
    const {view} = this, [first, past] = view.columns(this.shown);
    let best, nearest = reach;
    for (let b = first; b < past; ++b) for (const node of this.model.blocks[b]) {
      const far = Math.hypot(view.screen_x(node.x) - x, view.screen_y(node.y) - y);
      if (far < nearest) [best, nearest] = [node, far];
    }
    return best;
  }
  // The place of a node in the window.
  place_of(node) {
    const box = this.area.getBoundingClientRect();
    return {x: box.left + this.view.screen_x(node.x), y: box.top + this.view.screen_y(node.y)};
  }
  hover(at) {
    const node = at && this.node_at(at);
    this.area.style.cursor = node ? "pointer" : "grab";
    if (!node) { show_tip(); return; }
    const place = this.place_of(node);
    show_tip(`candidate ${node.id}, ${FATES[node.fate] ?? node.fate}${node.copies.length > 1 ? `, ${node.copies.length} copies` : ""}\nscore  ${fixed(node.score)}` +
             (this.model.contrast ? `\nreward ${with_sign(node.reward)} per token` : ""), place.x, place.y);
  }
}
TreeView.count = 0;

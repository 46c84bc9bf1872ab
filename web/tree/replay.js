// Steps through a search block by block.
class Replay {
  constructor(parent, tree) {
    this.tree = tree;
    const box = make("div", parent, undefined, {class: "replay", role: "group", "aria-label": "Replay"});
    const step = (sign, title, action, name) => button(box, sign, action, {title, "aria-label": title, class: name});
    step("\u21e4", "First block", () => this.go(1), "first");
    step("\u25c2", "Previous block", () => this.go(tree.shown - 1), "previous");
    this.play = step("\u25b6", "Play", () => this.toggle(), "play");
    step("\u25b8", "Next block", () => this.go(tree.shown + 1), "next");
    step("\u21e5", "Last block", () => this.go(Infinity), "last");
    this.slider = make("input", box, undefined, {type: "range", min: 1, max: 1, step: 1, "aria-label": "Blocks shown"});
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.label = make("span", box, "", {class: "figure blocks"});
  }
  go(block, playing = false) {
    if (!playing) this.stop();
    this.tree.show_blocks(Math.max(1, Math.min(this.tree.model.blocks.length, block)));
  }
  toggle() {
    if (this.timer) { this.stop(); return; }
    const {tree} = this;
    if (tree.shown >= tree.model.blocks.length) tree.show_blocks(1);
    this.timer = setInterval(() => {
      this.go(tree.shown + 1, true);
      if (tree.shown >= tree.model.blocks.length) this.stop();
    }, Math.max(60, Math.min(700, 12000 / tree.model.blocks.length)));
    this.update();
  }
  stop() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.update();
  }
  update() {
    const {tree} = this, count = tree.model.blocks.length, title = this.timer ? "Pause" : "Play";
    this.play.textContent = this.timer ? "\u275a\u275a" : "\u25b6";
    this.play.title = title;
    this.play.setAttribute("aria-label", title);
    this.slider.max = Math.max(1, count);
    this.slider.value = tree.shown;
    this.slider.setAttribute("aria-valuetext", `block ${tree.shown} of ${count}`);
    this.label.textContent = count ? `block ${tree.shown} of ${count}` : "no block yet";
  }
}

// What part of the layout is on the screen: two scales and an offset, in pixels.
const EDGE = {left: 58, right: 26, top: 38, bottom: 16};

class Viewport {
  constructor() { Object.assign(this, {width: 1, height: 1, kx: 1, ky: 1, x: 0, y: 0, touched: false}); }
  get inner_width() { return Math.max(40, this.width - EDGE.left - EDGE.right); }
  get inner_height() { return Math.max(40, this.height - EDGE.top - EDGE.bottom); }
  screen_x(x) { return EDGE.left + (x - this.x) * this.kx; }
  screen_y(y) { return EDGE.top + (y - this.y) * this.ky; }
  world_x(x) { return (x - EDGE.left) / this.kx + this.x; }
  world_y(y) { return (y - EDGE.top) / this.ky + this.y; }

  fit(layout) {
    this.kx = Math.min(1.15, this.inner_width / layout.width);
    this.ky = this.inner_height / HEIGHT;
    this.x = this.y = 0;
    this.touched = false;
  }
  // Scales about a point of the screen.
  zoom(factor, at_x = this.width / 2, at_y = this.height / 2, {horizontal = true, vertical = true} = {}) {
    const x = this.world_x(at_x), y = this.world_y(at_y), clamp = k => Math.min(40, Math.max(0.01, k));
    if (horizontal) this.kx = clamp(this.kx * factor);
    if (vertical) this.ky = clamp(this.ky * factor);
    this.x = x - (at_x - EDGE.left) / this.kx;
    this.y = y - (at_y - EDGE.top) / this.ky;
    this.touched = true;
  }
  pan(dx, dy) {
    this.x -= dx / this.kx;
    this.y -= dy / this.ky;
    this.touched = true;
  }
  // Moves so that the node is in view; returns whether it had to.
  reveal(node) {
    const x = this.screen_x(node.x), y = this.screen_y(node.y), room = 40;
    const dx = x < EDGE.left + 10 ? EDGE.left + room - x : x > this.width - EDGE.right ? this.width - EDGE.right - room - x : 0;
    const dy = y < EDGE.top - 4 ? EDGE.top + room - y : y > this.height - EDGE.bottom + 6 ? this.height - EDGE.bottom - room - y : 0;
    if (dx || dy) this.pan(dx, dy);
    return Boolean(dx || dy);
  }
  // The blocks whose columns are at least partly in view: [first, past the last].
  columns(count) {
    const first = Math.floor(this.world_x(0) / COLUMN) - 1, last = Math.floor(this.world_x(this.width) / COLUMN) + 2;
    return [Math.max(0, Math.min(count, first)), Math.max(0, Math.min(count, last))];
  }
}

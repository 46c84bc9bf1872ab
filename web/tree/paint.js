// The colours of the drawing, taken from the style sheet, so that they follow the theme.
const REWARD_STEPS = 12;  // on each side of zero

class Palette {
  constructor(element) {
    const probe = make("span", element, undefined, {style: "display: none"});
    const read = name => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    for (const name of ["ink", "faint", "line", "panel", "accent", "prune", "other"]) this[name] = read(name);
    const mixed = (name, share) => {
      probe.style.color = `color-mix(in oklab, var(--${name}) ${share}%, var(--neutral))`;
      return getComputedStyle(probe).color;
    };
    this.edge = (probe.style.color = "color-mix(in oklab, var(--neutral) 60%, var(--panel))", getComputedStyle(probe).color);
    this.rewards = [];
    for (let i = -REWARD_STEPS; i <= REWARD_STEPS; ++i)
      this.rewards.push(mixed(i < 0 ? "loss" : "gain", Math.round(100 * Math.abs(i) / REWARD_STEPS)));
    this.plain = read("gain");
    probe.remove();
  }
  // The number of a node's colour in `rewards`.
  step(reward, full) { return REWARD_STEPS + Math.round(REWARD_STEPS * Math.max(-1, Math.min(1, reward / full))); }
}
// The background of a token by its reward; full colour at two nats.
function reward_tint(reward) {
  const share = Math.round(Math.min(1, Math.abs(reward) / 2) * 48);
  return share ? `color-mix(in srgb, var(--${reward > 0 ? "gain" : "loss"}) ${share}%, transparent)` : "";
}

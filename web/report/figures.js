// Drawings that the program made. They are parsed as XML, and anything that could act is left out.
function add_drawing(place, figure) {
  const root = new DOMParser().parseFromString(figure.svg, "image/svg+xml").documentElement;
  if (root.localName !== "svg") return;
  for (const element of root.querySelectorAll("script, foreignObject, style")) element.remove();
  for (const element of [root, ...root.querySelectorAll("*")]) for (const {name} of [...element.attributes])
    if (/^on|href$/i.test(name)) element.removeAttribute(name);
  const box = make("figure", place), caption = make("figcaption", box);
  make("span", caption, figure.title);
  button(caption, "SVG", () => save(`${file_name(figure.name)}.svg`, "image/svg+xml", figure.svg), {class: "quiet", "aria-label": `Download "${figure.title}" as SVG`});
  make("div", box, undefined, {class: "plot"}).appendChild(document.importNode(root, true));
}

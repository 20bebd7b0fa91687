/** What an element can be given: attributes, and listeners under `on<event>`. */
export type Attributes = Readonly<Record<string, string | ((event: never) => void)>>;

/** Makes an element. Text is always text: nothing here parses HTML, so nothing needs a trusted type. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else {
      element.setAttribute(name, value);
    }
  }
  element.append(...children);
  return element;
}

/** Makes an icon of 24 units drawn with lines. */
export function icon(path: string): SVGElement {
  const make = (name: string) => document.createElementNS("http://www.w3.org/2000/svg", name);
  const svg = make("svg");
  const line = make("path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** Adds a style sheet to a shadow root or document without a style element, which a strict policy would refuse. */
export function addStyles(root: DocumentOrShadowRoot, css: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}

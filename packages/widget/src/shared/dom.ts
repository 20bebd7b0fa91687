/** Screens on which the panel covers the page and is modal. panel.css has the same media query. */
export const FULL_SCREEN_QUERY = "(max-width: 30em), (max-height: 30em)";

/** An element's attributes, and its event listeners under `on<event>`. */
export type Attributes = Readonly<Record<string, string | ((event: never) => void)>>;

/** Creates an element. String children become text nodes, which the policy `require-trusted-types-for 'script'` permits. */
export function createElement<Tag extends keyof HTMLElementTagNameMap>(
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

/** Creates an SVG icon from a path in a 24 by 24 view box. For labelled buttons, whose content assistive technology ignores. */
export function createIcon(path: string): SVGElement {
  const create = (name: string) => document.createElementNS("http://www.w3.org/2000/svg", name);
  const svg = create("svg");
  const line = create("path");
  svg.setAttribute("viewBox", "0 0 24 24");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** Adds CSS as a constructed style sheet, because a strict content security policy blocks style elements. */
export function addStyles(root: DocumentOrShadowRoot, css: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets.push(sheet);
}

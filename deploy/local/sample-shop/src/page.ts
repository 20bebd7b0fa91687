import { GOODS, TERMS } from "./goods.ts";
import { Html, html } from "./html.ts";
import { OPTIONS, type Settings, settingsQuery, widgetAttributes } from "./settings.ts";

export interface Embed {
  /** The edge's origin. */
  readonly edgeUrl: string;
  readonly publicKey: string;
}

const TITLES = { "/": "Things for the home", "/delivery": "Delivery and returns" } as const;

export type PagePath = keyof typeof TITLES;

export function isPagePath(path: string): path is PagePath {
  return Object.hasOwn(TITLES, path);
}

export function renderPage(path: PagePath, settings: Settings, embed: Embed): string {
  const query = settingsQuery(settings);
  const link = (to: PagePath, name: string) =>
    html`<a href="${to}${query}"${new Html(to === path ? ' aria-current="page"' : "")}>${name}</a>`;
  const attributes = Object.entries(widgetAttributes(settings)).map(([name, value]) => html` ${name}="${value}"`);
  return html`<!doctype html>
<html lang="en" dir="${settings.dir}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${TITLES[path]} – Sample shop</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/shop.css">
    <script async src="${embed.edgeUrl}/widget.js" data-public-key="${embed.publicKey}"${attributes}></script>
  </head>
  <body>
    ${renderSettingsForm(path, settings)}
    <header>
      <p class="name">Sample shop</p>
      <nav aria-label="Shop">${link("/", "Things")} ${link("/delivery", "Delivery and returns")}</nav>
    </header>
    <main>
      <h1>${TITLES[path]}</h1>
      ${path === "/" ? renderGoods() : renderTerms()}
    </main>
    <footer><p>A sample page that stands for a customer’s site. Nothing is sold here.</p></footer>
  </body>
</html>
`.text;
}

function renderGoods(): Html {
  const items = GOODS.map(
    ({ slug, name, price, about }) => html`<li>
          <img src="/goods/${slug}.svg" alt="" width="320" height="240">
          <h2>${name}</h2>
          <p>${about}</p>
          <p class="buy"><strong>${price}</strong> <button type="button" data-parley-send="Tell me about the ${name.toLowerCase()}.">Ask about it</button></p>
        </li>`,
  );
  return html`<p>Few things, made to last. Ask the assistant in the corner about any of them.</p>
      <ul class="goods">
        ${items}
      </ul>`;
}

function renderTerms(): Html {
  const entries = TERMS.map(([question, answer]) => html`<div><dt>${question}</dt><dd>${answer}</dd></div>`);
  return html`<dl>${entries}</dl>
      <p><button type="button" data-parley="open">Ask something else</button></p>`;
}

function renderSettingsForm(path: PagePath, settings: Settings): Html {
  const select = (name: keyof Settings, label: string) => {
    const options = OPTIONS[name].map(
      (value) => html`<option${new Html(value === settings[name] ? " selected" : "")}>${value}</option>`,
    );
    return html`<label>${label} <select name="${name}">${options}</select></label>`;
  };
  return html`<form class="switch" action="${path}" aria-label="Try the widget">
      <p>Try the widget:</p>
      ${select("theme", "Theme")} ${select("position", "Position")} ${select("lang", "Language")} ${select("dir", "Page direction")}
      <button type="submit">Show</button>
    </form>`;
}

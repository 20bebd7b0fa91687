import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom/worker";
import { escapeHtml, type PageContent } from "./page-content.ts";

/** A tree of more elements or characters needs more memory than the reading process has. */
const MAX_ELEMENTS = 6_000;
const MAX_CHARACTERS = 400_000;
/** A `main` element with less text is an empty frame that a script fills. */
const MIN_MAIN_CHARACTERS = 10;
/** If Readability keeps less of the text, the page is no article but, for example, a list of products. */
const MIN_ARTICLE_SHARE = 0.6;

/**
 * Returns the HTML of a page's main part, below its title: the `main` element, or else what Readability finds, or else the whole body without its
 * furniture. Readability alone would lose prices and lists, because it looks for an article.
 */
export function mainPart(page: PageContent): string[] {
  const html = chooseMainPart(page);
  return hasHeading(html) || page.title === "" ? [html] : [`<h1>${escapeHtml(page.title)}</h1>`, html];
}

function chooseMainPart({ main, body, elements }: PageContent): string {
  if (textLength(main) >= MIN_MAIN_CHARACTERS) return main;
  if (elements > MAX_ELEMENTS || body.length > MAX_CHARACTERS) return body;
  const article = readArticle(body);
  return textLength(article) >= MIN_ARTICLE_SHARE * textLength(body) ? article : body;
}

function readArticle(body: string): string {
  const { document } = parseHTML(`<!doctype html><html><head></head><body>${body}</body></html>`);
  const article = new Readability(document as ConstructorParameters<typeof Readability>[0]).parse()?.content ?? "";
  return restoreTitle(article, body);
}

/** Readability turns h1 elements into h2. Turns the one of the title back. */
function restoreTitle(article: string, body: string): string {
  const title = /<h1[^>]*>([^<]+)<\/h1>/i.exec(body)?.[1];
  const heading = /<h2[^>]*>([^<]+)<\/h2>/i.exec(article);
  if (title === undefined || heading?.[1] !== title) return article;
  return article.replace(heading[0], () => `<h1>${title}</h1>`);
}

function hasHeading(html: string): boolean {
  return /<h1[\s>]/i.test(html);
}

function textLength(html: string): number {
  return html.replace(/<[^>]*>/g, "").replace(/\s+/g, " ").length;
}

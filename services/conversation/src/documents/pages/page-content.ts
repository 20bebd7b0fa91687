import { Parser } from "htmlparser2";
import { isCrawlableLink } from "./page-link.ts";

/** What a crawler needs of an HTML page. */
export type PageContent = {
  /** The URL of the canonical link; the page's own URL without such a link. */
  canonical: string;
  /** The absolute URLs of the links to follow, each once. */
  links: string[];
  title: string;
  /** The body without furniture, such as navigation, headers, footers and cookie banners. */
  body: string;
  /** The content of the `main` element; empty without one. */
  main: string;
  /** The number of elements in `body`. */
  elements: number;
};

const MAX_LINKS = 5_000;
/** Elements that contain no readable text. */
const DROPPED_ELEMENTS = new Set(["script", "style", "template", "noscript", "svg", "iframe", "object", "canvas"]);
const FURNITURE_ELEMENTS = new Set(["nav", "dialog"]);
/** Furniture outside of the main part. Within it, they contain its title or its facts. */
const OUTER_FURNITURE_ELEMENTS = new Set(["header", "footer", "aside"]);
const FURNITURE_ROLES = new Set(["navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu"]);
const FURNITURE_NAMES =
  /(?:^|[\s_-])(?:cookie|cookies|consent|gdpr|skip-link|breadcrumbs?|newsletter-popup)(?:$|[\s_-])/i;
const KEPT_ATTRIBUTES = ["id", "class", "colspan", "rowspan", "scope", "role"];
const VOID_ELEMENTS = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));

type Attributes = Readonly<Partial<Record<string, string>>>;

/** Reads an HTML page tag by tag, because a tree would need 30 times the memory of the page. */
export function readPageContent(html: string, url: string): PageContent {
  const reader = new PageReader(url);
  const parser = new Parser({
    onopentag: (name, attributes) => reader.open(name, attributes),
    ontext: (text) => reader.text(text),
    onclosetag: (name) => reader.close(name),
  });
  parser.end(html);
  return reader.content();
}

class PageReader {
  readonly #url: string;
  readonly #links = new Set<string>();
  #base: string;
  #canonical: string | undefined;
  #follows = true;
  #title: string | undefined;
  readonly #body: string[] = [];
  readonly #main: string[] = [];
  #elements = 0;
  #depth = 0;
  /** Depths of the open elements of each kind; 0 if there is none. */
  #droppedDepth = 0;
  #headDepth = 0;
  #mainDepth = 0;
  #titleDepth = 0;

  constructor(url: string) {
    this.#url = url;
    this.#base = url;
  }

  open(name: string, attributes: Attributes): void {
    this.#depth++;
    this.#readLink(name, attributes);
    if (this.#droppedDepth > 0) return;
    if (this.#headDepth > 0 || name === "head") {
      if (name === "head") this.#headDepth = this.#depth;
      if (name === "title" && this.#title === undefined) this.#titleDepth = this.#depth;
      return;
    }
    if (isDropped(name, attributes, this.#mainDepth > 0)) {
      this.#droppedDepth = this.#depth;
      return;
    }
    if (this.#mainDepth === 0 && (name === "main" || attributes.role === "main")) this.#mainDepth = this.#depth;
    this.#elements++;
    const kept = KEPT_ATTRIBUTES.flatMap((key) => {
      const value = attributes[key];
      return value === undefined ? [] : [` ${key}="${escapeHtml(value)}"`];
    });
    this.#write(`<${name}${kept.join("")}>`);
  }

  text(text: string): void {
    if (this.#titleDepth > 0) this.#title = `${this.#title ?? ""}${text}`;
    else if (this.#headDepth === 0 && this.#droppedDepth === 0) this.#write(escapeHtml(text));
  }

  close(name: string): void {
    const depth = this.#depth--;
    if (depth === this.#titleDepth) this.#titleDepth = 0;
    if (depth === this.#headDepth) this.#headDepth = 0;
    else if (depth === this.#droppedDepth) this.#droppedDepth = 0;
    else if (this.#droppedDepth === 0 && this.#headDepth === 0) {
      if (!VOID_ELEMENTS.has(name)) this.#write(`</${name}>`);
      if (depth === this.#mainDepth) this.#mainDepth = 0;
    }
  }

  content(): PageContent {
    return {
      canonical: this.#canonical ?? this.#url,
      links: this.#follows ? [...this.#links] : [],
      title: (this.#title ?? "").replace(/\s+/g, " ").trim(),
      body: this.#body.join(""),
      main: this.#main.join(""),
      elements: this.#elements,
    };
  }

  #write(html: string): void {
    this.#body.push(html);
    if (this.#mainDepth > 0) this.#main.push(html);
  }

  #readLink(name: string, { href, rel = "", name: metaName = "", content = "" }: Attributes): void {
    const rels = rel.toLowerCase().split(/\s+/);
    if (name === "meta" && metaName.toLowerCase() === "robots" && /\b(?:nofollow|none)\b/i.test(content))
      this.#follows = false;
    if (href === undefined) return;
    const target = this.#resolve(href);
    if (target === undefined) return;
    if (name === "base") this.#base = target;
    else if (name === "link" && rels.includes("canonical")) this.#canonical ??= target;
    else if ((name === "a" || name === "area") && !rels.includes("nofollow")) this.#addLink(target);
  }

  #addLink(target: string): void {
    if (this.#links.size < MAX_LINKS && isCrawlableLink(target)) this.#links.add(target);
  }

  #resolve(href: string): string | undefined {
    return URL.canParse(href.trim(), this.#base) ? new URL(href.trim(), this.#base).href : undefined;
  }
}

function isDropped(name: string, attributes: Attributes, isInMain: boolean): boolean {
  if (DROPPED_ELEMENTS.has(name) || FURNITURE_ELEMENTS.has(name)) return true;
  if (attributes.hidden !== undefined && attributes.hidden !== "until-found") return true;
  if (!isInMain && OUTER_FURNITURE_ELEMENTS.has(name)) return true;
  if (name === "body" || name === "main" || name === "html") return false;
  const { role = "", id = "", class: classes = "" } = attributes;
  return FURNITURE_ROLES.has(role) || FURNITURE_NAMES.test(id) || FURNITURE_NAMES.test(classes);
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

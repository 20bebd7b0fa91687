import { gunzipSync } from "node:zlib";
import { Parser } from "htmlparser2";

const MAX_LINKS = 20_000;
const MAX_SITEMAP_BYTES = 50 * 1024 * 1024;

/** The URLs in a sitemap: of pages, or of further sitemaps if it is an index. */
export type SitemapLinks = { isIndex: boolean; links: string[] };

/** Reads a sitemap as XML or as text with one URL in each line, also if it is compressed with gzip. */
export function readSitemap(content: Uint8Array): SitemapLinks {
  const isGzip = content[0] === 0x1f && content[1] === 0x8b;
  const bytes = isGzip ? gunzipSync(content, { maxOutputLength: MAX_SITEMAP_BYTES }) : content;
  const text = new TextDecoder().decode(bytes);
  return text.trimStart().startsWith("<") ? readXml(text) : { isIndex: false, links: readLines(text) };
}

function readLines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => URL.canParse(line))
    .slice(0, MAX_LINKS);
}

function readXml(text: string): SitemapLinks {
  const links: string[] = [];
  let isIndex = false;
  let location: string | undefined;
  const parser = new Parser(
    {
      onopentagname: (name) => {
        if (name === "sitemapindex") isIndex = true;
        else if (name === "loc") location = "";
      },
      ontext: (part) => {
        if (location !== undefined) location += part;
      },
      onclosetag: (name) => {
        if (name !== "loc" || location === undefined) return;
        const url = location.trim();
        if (links.length < MAX_LINKS && URL.canParse(url)) links.push(url);
        location = undefined;
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(text);
  return { isIndex, links };
}

import type { OfficePackage } from "./office-package.ts";

type Style = { name: string; basedOn: string; outlineLevel: number | undefined; hasHeadingRow: boolean };

/** A style chain is at most this long. It may also be circular. */
const MAX_CHAIN = 16;

/** The styles of a DOCX file that tell headings from other text. */
export class DocxStyles {
  readonly #byId = new Map<string, Style>();

  async read(file: OfficePackage, path: string): Promise<void> {
    let style: Style = createStyle();
    await file.readXml(path, {
      open: (name, { styleId = "", val = "", type = "" }) => {
        if (name === "style") {
          style = createStyle();
          this.#byId.set(styleId, style);
        } else if (name === "name") style.name = val.toLowerCase();
        else if (name === "basedOn") style.basedOn = val;
        else if (name === "outlineLvl") style.outlineLevel = Number(val);
        else if (name === "tblStylePr" && type === "firstRow") style.hasHeadingRow = true;
      },
    });
  }

  /** Returns 1 for a title, from 2 on for the other headings, and undefined for other text. `own` is the paragraph's own outline level. */
  findHeadingLevel(styleId: string, own: number | undefined): number | undefined {
    if (own !== undefined) return own < 9 ? own + 2 : undefined;
    for (const { name, outlineLevel } of this.#chain(styleId)) {
      if (name === "title") return 1;
      const level = outlineLevel ?? Number(/^heading (\d)$/.exec(name)?.[1] ?? Number.NaN) - 1;
      if (!Number.isNaN(level)) return level < 9 ? level + 2 : undefined;
    }
    return undefined;
  }

  isOfContents(styleId: string): boolean {
    return this.#chain(styleId).some(({ name }) => /^toc( \d|$)/.test(name));
  }

  hasHeadingRow(styleId: string): boolean {
    return this.#chain(styleId).some((style) => style.hasHeadingRow);
  }

  #chain(styleId: string): Style[] {
    const chain: Style[] = [];
    for (let style = this.#byId.get(styleId); style && chain.length < MAX_CHAIN; style = this.#byId.get(style.basedOn))
      chain.push(style);
    return chain;
  }
}

function createStyle(): Style {
  return { name: "", basedOn: "", outlineLevel: undefined, hasHeadingRow: false };
}

import { words } from "@parley/bot-rules/questions";

/** What a superlative such as "the cheapest" or "am längsten" compares. */
export type Superlative = {
  /** The words that ask. */
  phrase: string;
  isLargest: boolean;
  /** Returns the numbers of a sentence that can be compared. */
  read: (sentence: string) => number[];
};

const CURRENCY = "(?:[€$£¥₪]|eur|usd|chf|gbp|euros?|dollars?|pounds?|franken|francs?|zł)";
const NUMBER = "\\p{N}+(?:[.,]\\p{N}+)*";
const PRICE = new RegExp(`${CURRENCY}\\s?(?<after>${NUMBER})|(?<before>${NUMBER})\\s?${CURRENCY}(?!\\p{L})`, "giu");
const SIZE = new RegExp(
  `(?<![\\p{L}\\p{N}.,]|[€$£]\\s?)(?<size>${NUMBER})(?![\\p{N}.,:]*\\p{N}|\\s?(?:${CURRENCY}|%|h|uhr|am|pm)(?!\\p{L}))`,
  "giu",
);

/** In minutes. By the beginning of the unit, or by the whole unit if another word begins in the same way, such as "and". */
const MINUTES: readonly [RegExp, number][] = [
  [/^min/iu, 1],
  [/^(?:h(?:rs?|ours?)?$|st(?:d|unde)|heure|hora|or[ae]$|uur|godz)/iu, 60],
  [/^(?:da[yg]|tag|jour|día|giorn|dni)/iu, 1_440],
  [/^(?:week|woche|semaine|semana|settiman|tyg)/iu, 10_080],
  [/^(?:month|monat|mois|mes(?:es|i)?$|maand|miesi)/iu, 43_200],
  [/^(?:year|jahr|ans?$|año|jaar|rok|lata?$)/iu, 525_600],
];
const DURATION = /(?<!\p{N})(?<count>\p{N}+(?:[.,]\p{N}+)?)[ -]?(?<unit>\p{L}+)/giu;

const readPrices = (text: string) => [...text.matchAll(PRICE)].map(({ groups }) => toNumber(groups));
/** Without other numbers, several prices tell which one is larger: "small for 14 €, large for 29 €". */
function readSizes(text: string): number[] {
  const sizes = [...text.matchAll(SIZE)].map(({ groups }) => toNumber(groups));
  const prices = readPrices(text);
  return sizes.length === 0 && prices.length > 1 ? prices : sizes;
}

function readMinutes(text: string): number[] {
  return [...text.matchAll(DURATION)].flatMap(({ groups }) => {
    const minutes = MINUTES.find(([unit]) => unit.test(groups?.unit ?? ""))?.[1];
    return minutes === undefined ? [] : [Number(groups?.count?.replace(",", ".")) * minutes];
  });
}

/** Reads "1.150", "1,150.00" and "9,50": a separator before three digits at the end separates thousands. */
function toNumber(groups: Record<string, string | undefined> | undefined): number {
  const text = Object.values(groups ?? {}).find((value) => value !== undefined) ?? "";
  return Number(text.replace(/[.,](?=\p{N}{3}(?!\p{N}))/gu, "").replace(",", "."));
}

const FORMS: readonly (Pick<Superlative, "isLargest" | "read"> & { pattern: RegExp })[] = [
  {
    isLargest: false,
    read: readPrices,
    pattern: words(
      "cheapest|least expensive|lowest (?:price|cost|fee)|(?:am )?(?:günstigste|billigste|preiswerteste)\\p{L}*|(?:la |le |les )?moins (?:chère?s?|coûteu\\p{L}+)|(?:el |la |los |las )?más (?:barat|económic)[oa]s?|(?:il |la |i |le )?(?:meno car|più economic)\\p{L}+|goedkoopste|mais barat[oa]s?|najtańsz\\p{L}+",
    ),
  },
  {
    isLargest: true,
    read: readPrices,
    pattern: words(
      "most expensive|dearest|priciest|highest (?:price|cost|fee)|(?:am )?teuerste\\p{L}*|(?:la |le |les )?plus chère?s?|(?:el |la |los |las )?más car[oa]s?|(?:il |la |i |le )?più car[oaie]|duurste|mais car[oa]s?|najdroższ\\p{L}+",
    ),
  },
  {
    isLargest: true,
    read: readMinutes,
    pattern: words(
      "longest|(?:am )?längste\\p{L}*|(?:la |le )?plus (?:longue?s?)|(?:el |la )?más larg[oa]s?|(?:il |la )?più lung[oah]\\p{L}*",
    ),
  },
  {
    isLargest: false,
    read: readMinutes,
    pattern: words(
      "shortest|quickest|(?:am )?(?:kürzeste|schnellste)\\p{L}*|(?:la |le )?plus (?:courte?s?|rapides?)|(?:el |la )?más (?:cort[oa]s?|rápid[oa]s?)|(?:il |la )?più (?:cort[oa]|brev[ei]|rapid[oa])",
    ),
  },
  {
    isLargest: true,
    read: readSizes,
    pattern: words(
      "biggest|largest|(?:am )?größte\\p{L}*|(?:la |le )?plus grande?s?|(?:el |la )?más grandes?|(?:il |la )?più grand[ei]",
    ),
  },
  {
    isLargest: false,
    read: readSizes,
    pattern: words(
      "smallest|(?:am )?kleinste\\p{L}*|(?:la |le )?plus petite?s?|(?:el |la )?más pequeñ[oa]s?|(?:il |la )?più piccol[oaie]",
    ),
  },
];

/** Returns what a question compares by its first superlative; undefined if it has none. */
export function findSuperlative(message: string): Superlative | undefined {
  for (const { pattern, ...form } of FORMS) {
    const phrase = pattern.exec(message)?.[0];
    if (phrase !== undefined) return { phrase, ...form };
  }
  return undefined;
}

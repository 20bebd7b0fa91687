import { cutText, withoutControlCharacters } from "../text.ts";
import type { ProviderError } from "./provider-error.ts";

export type RedactionContext = {
  /** API keys and the values of other headers. */
  secrets: readonly string[];
  /** The texts of the request: instructions, knowledge, messages, arguments and results of tools. */
  texts: readonly string[];
  /** Names that may appear although they look like keys: models and functions. */
  names: readonly string[];
};

const MAX_MESSAGE_CHARACTERS = 300;
const MAX_READ_CHARACTERS = 4_000;
const CODE = /^([A-Za-z][A-Za-z_.:#-]{0,63}|\d{1,6})$/;
const REDACTED = "[…]";
const MIN_SHARED_WORDS = 3;

/**
 * Returns the error with a message that may be logged and stored. Providers echo parts of the key and of the request, cut and in other encodings.
 * So the message keeps a word that occurs in the request only if it is a word of ERROR_WORDS, and loses anything that looks like a key, an
 * address, a personal number or an encoding.
 */
export function redactProviderError(error: ProviderError, context: RedactionContext): ProviderError {
  const redact = createRedaction(context);
  const code = CODE.test(error.code) && redact(error.code) === error.code ? error.code : "";
  return { status: error.status, code, message: cutText(redact(error.message), MAX_MESSAGE_CHARACTERS) };
}

function createRedaction({ secrets, texts, names }: RedactionContext): (text: string) => string {
  const request = normalise(texts.join("\n"));
  const redactPart = (part: string) =>
    redactRequest(redactTokens(redactAddresses(redactSecrets(part, secrets)), secrets), request);
  return (text) => {
    const readable = withoutControlCharacters(decodeEscapes(text.slice(0, MAX_READ_CHARACTERS)));
    // An even index is a part between two names.
    const parts = splitAtNames(readable, names);
    const redacted = parts.map((part, index) => (index % 2 === 0 ? redactPart(part) : part)).join("");
    return redacted
      .replaceAll(/\s+/g, " ")
      .replaceAll(/(\[…\][\s"'`,.:;]*){2,}/g, `${REDACTED} `)
      .trim();
  };
}

function splitAtNames(text: string, names: readonly string[]): string[] {
  const known = names.filter((name) => name.length > 3).toSorted((one, other) => other.length - one.length);
  if (known.length === 0) return [text];
  const pattern = known.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|");
  return text.split(new RegExp(`(?<![\\w-])(${pattern})(?![\\w-])`, "u"));
}

/** Decodes JSON's, HTML's and URLs' escapes, so that the request's text is found in them. */
function decodeEscapes(text: string): string {
  return text
    .replaceAll(/\\+u([0-9a-f]{4})/gi, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
    .replaceAll(/\\+[nrt]/g, " ")
    .replaceAll(/\\+(["'/\\])/g, "$1")
    .replaceAll(/&#(x?)([0-9a-f]{1,6});/gi, (whole, hex: string, digits: string) => {
      const point = Number.parseInt(digits, hex === "" ? 10 : 16);
      return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole;
    })
    .replaceAll(/&(quot|apos|amp|lt|gt|nbsp);/g, " ")
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll("%", ""), "hex").toString());
}

function redactSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret !== "")
    .reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text)
    .replaceAll(/\b(bearer|basic|token|digest)\s+[^\s"',;]+/gi, `$1 ${REDACTED}`)
    .replaceAll(
      /\b((?:x-)?api[-_ ]?key|key provided|authorization|access[-_]?token|secret|password)(["']?\s*[:=]\s*["']?)[^\s"',;]+/gi,
      `$1$2${REDACTED}`,
    );
}

/** Keeps a URL's scheme, host and path. */
function redactAddresses(text: string): string {
  return text
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)([^\s/?#"'<>]*@)?([^\s?#"'<>]*)([?#][^\s"'<>]*)?/gi, "$1$3")
    .replaceAll(/[^\s@"'<>(),;:]+@[^\s@"'<>(),;:]+/g, REDACTED);
}

/** Redacts parts of keys, long numbers, and long texts without spaces such as base64. */
function redactTokens(text: string, secrets: readonly string[]): string {
  return text.replaceAll(/[\p{L}\p{N}_+=*•.…~-]*[\p{L}\p{N}*•][\p{L}\p{N}_+=*•.…~-]*/gu, (token) => {
    const plain = token.replace(/[.…]+$/, "");
    const isMasked = /[*•]{2}|[\p{L}\p{N}](\.{3}|…)[\p{L}\p{N}]|^[*•]/u.test(plain);
    const pieces = plain.split(/[^\p{L}\p{N}]+/u).filter((piece) => piece.length > 3);
    const isPartOfSecret = pieces.some((piece) => secrets.some((secret) => secret.includes(piece)));
    const isKeyLike =
      /^(sk|pk|rk|gsk|xai|hf|ghp|org|proj|req|key|AKIA|AIza|eyJ)[-_]?\S{8,}/.test(plain) && /\d/.test(plain);
    const isEncoded = plain.length >= 20 && ((/\d/.test(plain) && /\p{L}/u.test(plain)) || /[a-z][A-Z]/.test(plain));
    const isLongNumber = plain.replaceAll(/\D/g, "").length >= 7 && /^[\d.+-]+$/.test(plain);
    return isMasked || isPartOfSecret || isKeyLike || isEncoded || isLongNumber
      ? REDACTED + token.slice(plain.length)
      : token;
  });
}

const WORD = /[\p{L}\p{N}\p{M}\p{So}]+/gu;
/** Letters of scripts that are written without spaces, and symbols such as emoji. */
const WITHOUT_SPACES =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{So}]/u;

/** Redacts what occurs in the request, unless it is one of ERROR_WORDS. MIN_SHARED_WORDS of them in the request's order are redacted too. */
function redactRequest(text: string, request: string): string {
  const singles = text.replaceAll(WORD, (word) => (isOfRequest(word, request) ? REDACTED : word));
  const words = [...singles.matchAll(/\p{L}+/gu)];
  let redacted = "";
  let end = 0;
  for (let first = 0; first < words.length; first++) {
    const length = countSharedWords(words.slice(first), request);
    if (length < MIN_SHARED_WORDS) continue;
    const last = words[first + length - 1] as RegExpExecArray;
    redacted += singles.slice(end, words[first]?.index) + REDACTED;
    end = last.index + last[0].length;
    first += length - 1;
  }
  return redacted + singles.slice(end);
}

/** Returns how many of the words occur in the request one after the other. */
function countSharedWords(words: readonly RegExpExecArray[], request: string): number {
  let sequence = "";
  let count = 0;
  for (const [word] of words) {
    sequence += ` ${normalise(word)}`;
    if (!` ${request} `.includes(`${sequence} `)) break;
    count++;
  }
  return count;
}

function isOfRequest(word: string, request: string): boolean {
  const plain = normalise(word);
  if (ERROR_WORDS.has(plain)) return false;
  if (WITHOUT_SPACES.test(word)) return sharesCharacters(plain, request);
  // A shorter Latin word occurs by chance within a word of the request.
  if (/^[\w]{1,2}$/.test(plain)) return false;
  return request.includes(plain);
}

function sharesCharacters(word: string, request: string): boolean {
  const characters = [...word];
  if (characters.length === 1) return request.includes(word);
  return characters.some((each, index) => index > 0 && request.includes(`${characters[index - 1]}${each}`));
}

/** Returns the words of a text, in lower case, with one space between them. */
function normalise(text: string): string {
  return [...text.normalize("NFKC").toLowerCase().matchAll(WORD)].join(" ");
}

/** Words of providers' errors. None of them tells anything about a request that contains it. */
const ERROR_WORDS: ReadonlySet<string> = new Set(
  `a about above access account accounts active additional after again all allowed already also an and another any api apis are argument arguments array
  arrays as at authentication authorization auth available back bad balance base be because been before being below between billing body boolean but by
  call called calls can cannot capacity change characters chat check choice choices choose client code com completion completions config configuration configured
  connection contact contain contains content contents context could create created credentials credit credits current currently daily data date deadline default
  denied deployment deprecated description details did different disabled docs does doesn due during each either email empty enable enabled endpoint engine enough enum error errors
  exceed exceeded exceeds exist exists expected expired external fail failed failure feature field fields file filter finish first for forbidden format
  found free from function functions gateway generate get given greater had has have header headers help high how however http https id if image images in
  include included incorrect increase input inputs insufficient integer internal invalid is issue it item items its json key keys language large last later least
  length less level limit limits line list load location long longer look many match max maximum may message messages method min minimum minute minutes missing model
  models month more most moderation must name names need needs new no non not null number numbers object objects occurred of off on one only open operation or order
  organization other our out output over overloaded own page param parameter parameters parse part parts pass path pattern per permission permissions plan please policy position
  possible pro problem processing project prompt prompts properties property provided provider providers quota range rate rates reached read reason received reduce refer refused region
  region reject rejected remaining remove request requested requests require required requires resource response restricted result results resubmit retry role roles root rpm run safety
  same schema schemas second seconds see seems send sent server servers service set setting settings should shorten size so some something sorry stop stream strict string strings
  such support supported supports system temperature temporarily temporary terms than that the their them then there these they this those through tier time timed timeout
  times to token tokens too tool tools top total tpm try trying two type types unable unauthorized under unexpected unknown unprocessable unsupported until upgrade upstream
  url usage use used user users uses using valid value values version via violates visit was we were what when where which while who will with without
  would wrong yet you your`.split(/\s+/),
);

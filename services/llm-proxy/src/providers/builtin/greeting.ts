import { splitWords } from "./terms.ts";

const GREETING_WORDS = new Set(
  "hi hello hey hiya howdy greetings good morning afternoon evening day there hallo hola bonjour salut ciao moin servus guten tag morgen abend buenos dias hej olá".split(
    " ",
  ),
);
/** The only words that a message of thanks may contain. */
const ALLOWED_THANKS_WORDS = new Set(
  "thanks thank you thx ty cheers much very so many a lot great ok okay cool perfect danke vielen dank merci gracias grazie obrigado tak tack".split(
    " ",
  ),
);
/** A message of thanks contains at least one of these. */
const REQUIRED_THANKS_WORDS = new Set(
  "thanks thank thx ty cheers danke dank merci gracias grazie obrigado tak tack".split(" "),
);
const MAX_WORDS = 5;

const GREETING_REPLY = "Hello! Ask me a question, and I will look for the answer in the documents I was given.";
const THANKS_REPLY = "You're welcome! If there is anything else you would like to know, just ask.";

/** Returns a reply if the message has at most five words and only greets or only thanks. Otherwise returns undefined. */
export function replyToGreetingOrThanks(message: string): string | undefined {
  const words = splitWords(message);
  if (words.length === 0 || words.length > MAX_WORDS) return undefined;
  if (words.some((word) => REQUIRED_THANKS_WORDS.has(word)) && words.every((word) => ALLOWED_THANKS_WORDS.has(word)))
    return THANKS_REPLY;
  return words.every((word) => GREETING_WORDS.has(word)) ? GREETING_REPLY : undefined;
}

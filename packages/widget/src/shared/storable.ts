/** Returns a text as the service accepts it: without NUL, lone surrogates and white space around it. Firefox ESR 115 has no toWellFormed. */
export const toStorable = (text: string): string =>
  text
    .replaceAll("\0", "")
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .trim();

export type Backend = { language: string; code: string };

/** Reads the code blocks of backends.md, each after a line such as `With Node:`. */
export function readBackends(markdown: string): Backend[] {
  const blocks = markdown.matchAll(/^With (\w+):\n\n```\w+\n(.*?)^```$/gms);
  return Array.from(blocks, ([, language = "", code = ""]) => ({ language, code }));
}

/**
 * Replaces the generated section of a document, between the comments `<!-- name: … -->` and `<!-- /name -->`. Throws if the section is
 * missing.
 */
export function replaceSection(document: string, name: string, content: string): string {
  const section = new RegExp(`(<!-- ${name}: [^\\n]*-->).*?(<!-- /${name} -->)`, "s");
  if (!section.test(document)) throw new Error(`the document has no section ${name}`);
  return document.replace(section, (_, start: string, end: string) => `${start}\n\n${content}\n\n${end}`);
}

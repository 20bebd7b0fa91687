export type Vocabulary = "o200k_base" | "cl100k_base";

const FAMILIES: readonly [family: RegExp, vocabulary: Vocabulary][] = [
  [/^(gpt-4o|gpt-4\.[15]|gpt-[5-9]|gpt-oss|chatgpt-4o|o[1-9](-|$))/, "o200k_base"],
  [/^(gpt-4|gpt-3\.5|gpt-35)(-|$)/, "cl100k_base"],
];

/** Returns the vocabulary for a model name, such as `openai/gpt-4o` or `gpt-4o-2024-11-20`; undefined if the name is of no known family. */
export function findVocabulary(model: string): Vocabulary | undefined {
  const name = model
    .slice(model.lastIndexOf("/") + 1)
    .toLowerCase()
    // The prefix of a fine-tuned model, such as `ft:gpt-4o-mini:shop::9aBcDe`.
    .replace(/^ft:/, "");
  return FAMILIES.find(([family]) => family.test(name))?.[1];
}

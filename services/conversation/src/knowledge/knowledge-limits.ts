import { ServiceError } from "@parley/service-kit";

/** The documents of all bots of a workspace, and the characters of their text. */
export type KnowledgeUsage = { documents: number; characters: number };

/** The limits of the workspace's plan. */
export type KnowledgeLimits = { maxDocuments: number; maxCharacters: number };

export type UsageWithout = {
  /** The workspace's usage without the document that is replaced. */
  others: KnowledgeUsage;
  /** The characters of the document that is replaced; undefined for a new document. */
  replaced: number | undefined;
};

/**
 * Throws knowledge_limit_reached if a document of `characters` would exceed a limit. A document may always be replaced by one that is not longer,
 * so that a workspace above a lowered limit can update its knowledge. Documents that are stored at the same moment may together exceed a limit:
 * each replica stores one at a time.
 */
export function requireRoom(
  { others, replaced }: UsageWithout,
  characters: number,
  { maxDocuments, maxCharacters }: KnowledgeLimits,
): void {
  if (replaced === undefined && others.documents >= maxDocuments)
    throw limitReached(`${maxDocuments} documents, and it has ${others.documents}`);
  if (others.characters + characters <= maxCharacters || (replaced !== undefined && characters <= replaced)) return;
  const used = others.characters + (replaced ?? 0);
  throw limitReached(`${maxCharacters} characters of text. It has ${used}, and this document has ${characters}`);
}

function limitReached(detail: string): ServiceError {
  return new ServiceError(
    "resource_exhausted",
    "knowledge_limit_reached",
    `the workspace's plan permits ${detail}: remove documents, or ask the operator for a larger plan`,
  );
}

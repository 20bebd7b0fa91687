import { type Manifest, nameOf } from "./manifest.ts";
import { KNOWN_KINDS } from "./models.ts";

/** Reports unknown kinds. For known kinds, reports wrong types, wrong enum values and missing fields, but not unknown fields. */
export function schemaProblems(manifests: readonly Manifest[]): string[] {
  return manifests.flatMap((manifest) => {
    const known = KNOWN_KINDS[`${manifest.apiVersion}/${manifest.kind}`];
    if (known === undefined)
      return [`${nameOf(manifest)}: ${manifest.apiVersion} ${manifest.kind} is not a known kind`];
    try {
      new known.model(manifest as never).validate();
      return [];
    } catch (error) {
      return [`${nameOf(manifest)}: ${error instanceof Error ? error.message : "invalid"}`];
    }
  });
}

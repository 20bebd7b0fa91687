import { posix } from "node:path";

/** One import or re-export statement, or one dynamic import. */
export type Import = {
  specifier: string;
  /** Whether the statement imports only types, which do not exist at runtime. */
  isTypeOnly: boolean;
  /** The names of the values between braces; empty for other imports, such as `import * as x` and dynamic imports. */
  names: readonly string[];
};

const STATEMENT =
  /\b(?:import|export)\s+(type\s+)?(\w+\s*,\s*)?(?:\{([^}]*)\}|\*(?:\s+as\s+\w+)?|\w+)\s+from\s+"([^"]+)"/g;
/** Matches a dynamic import and a side-effect import. */
const WITHOUT_NAMES = /\bimport\s*\(?\s*"([^"]+)"/g;

export function importsOf(text: string): Import[] {
  const named = [...text.matchAll(STATEMENT)].map(([, type, defaultImport, list = "", specifier = ""]) => {
    const entries = list.split(",").flatMap((entry) => entry.trim() || []);
    const areTypes = entries.length > 0 && entries.every((entry) => entry.startsWith("type "));
    const isTypeOnly = type !== undefined || (areTypes && defaultImport === undefined);
    const values = entries.filter((entry) => !entry.startsWith("type "));
    return { specifier, isTypeOnly, names: values.map(nameOf) };
  });
  const others = [...text.matchAll(WITHOUT_NAMES)].map(([, specifier = ""]) => ({
    specifier,
    isTypeOnly: false,
    names: [],
  }));
  return [...named, ...others];
}

/** Returns the name that the imported file exports: `Row` for `Row as StoredRow`. */
function nameOf(entry: string): string {
  return entry.split(" as ")[0] ?? "";
}

/** Resolves a relative specifier in the file at `path` to a path in the repository. */
export function targetOf(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier);
}

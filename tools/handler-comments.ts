import type { Problems, SourceFile } from "./problems.ts";

const HANDLED_IN = /Handled in (.*?)\.(?=\s|$)/;
const FILE = /[\w-]+(?:\/[\w.-]+)+\.ts/g;

/**
 * Reports each RPC without the sentence "Handled in <file>." in its own comment or its service's comment. Also reports each named
 * file that is missing from `paths`, the files of the repository.
 */
export function handlerCommentProblems(protos: readonly SourceFile[], paths: ReadonlySet<string>): Problems {
  return protos.flatMap(({ path, text }) => {
    const problems: string[] = [];
    let comment: string[] = [];
    let serviceFiles: readonly string[] = [];
    for (const [index, line] of text
      .split("\n")
      .map((each) => each.trim())
      .entries()) {
      const [, kind, name] = /^(service|rpc) (\w+)/.exec(line) ?? [];
      if (kind !== undefined) {
        const files = filesIn(comment);
        const missing = files.filter((file) => !paths.has(file));
        problems.push(...missing.map((file) => `${path}:${index + 1} ${name} names a missing file: ${file}`));
        if (kind === "service") serviceFiles = files;
        else if (files.length === 0 && serviceFiles.length === 0)
          problems.push(`${path}:${index + 1} ${name} has no comment "Handled in <file>."`);
      }
      comment = line.startsWith("//") ? [...comment, line.slice(2).trim()] : [];
    }
    return problems;
  });
}

function filesIn(comment: readonly string[]): string[] {
  return HANDLED_IN.exec(comment.join(" "))?.[1]?.match(FILE) ?? [];
}

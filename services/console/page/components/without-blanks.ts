export function withoutBlanks(values: readonly string[]): string[] {
  return values.filter((value) => value.trim() !== "");
}

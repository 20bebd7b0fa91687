import { type DocumentFormat, listExtensions } from "@parley/rpc/documents";
import { getLocale } from "./language.ts";

/** Returns the file name extensions of formats, by default of all, as a list in the user's language. */
export function formatExtensions(formats?: readonly DocumentFormat[]): string {
  return new Intl.ListFormat(getLocale()).format(listExtensions(formats));
}

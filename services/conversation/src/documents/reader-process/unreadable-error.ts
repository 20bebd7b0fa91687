const SPLIT = "split it into smaller documents";

/** Why a document cannot be read, for its owner. They quote nothing of the document. */
export const UNREADABLE_REASONS = {
  locked: "it is locked with a password; save it without one",
  binary_office: "it has the format of Office 97 to 2003; save it as .docx or .xlsx",
  broken_office: "it is not a complete .docx or .xlsx file; open it with the program that wrote it, and save it again",
  unpacks: `it unpacks to more than 100 MiB; ${SPLIT}`,
  document_type: "its XML declares a document type or entities, which .docx and .xlsx files must not contain",
  nested: "its XML is nested too deeply",
  broken_pdf: "it is not a complete PDF; repair it",
  pdf_pages: `it has more than 2,000 pages; ${SPLIT}`,
} as const;

export type UnreadableReason = keyof typeof UNREADABLE_REASONS;

/** A document that cannot be read for a known reason. */
export class UnreadableError extends Error {
  readonly reason: UnreadableReason;

  constructor(reason: UnreadableReason, options?: ErrorOptions) {
    super(UNREADABLE_REASONS[reason], options);
    this.name = "UnreadableError";
    this.reason = reason;
  }
}

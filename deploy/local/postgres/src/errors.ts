/** What can keep a local PostgreSQL from starting; stable, safe to branch on. */
export type LocalPostgresErrorCode =
  | "platform_unsupported"
  | "port_taken"
  | "other_major_version"
  | "foreign_data_dir"
  | "password_rejected"
  | "no_unprivileged_user"
  | "start_failed";

/** One line for a person: what is wrong and what to do next. Never holds the password. */
export class LocalPostgresError extends Error {
  override readonly name = "LocalPostgresError";
  readonly code: LocalPostgresErrorCode;

  constructor(code: LocalPostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

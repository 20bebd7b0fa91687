/** Stable codes for the reasons why a local PostgreSQL cannot start. */
export type LocalPostgresErrorCode =
  | "platform_unsupported"
  | "port_taken"
  | "other_major_version"
  | "foreign_data_dir"
  | "password_rejected"
  | "no_unprivileged_user"
  | "start_failed";

/** The message is one line for the user: the problem and the next step. It never contains the password. */
export class LocalPostgresError extends Error {
  override readonly name = "LocalPostgresError";
  readonly code: LocalPostgresErrorCode;

  constructor(code: LocalPostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export { createAuthority, createCertificates } from "./certificates.ts";
export { listen } from "./listen.ts";
export { createServiceDatabase, type ServiceDatabase } from "./service-database.ts";
export { findSequentialScans, recordStatements, type Statement } from "./statements.ts";

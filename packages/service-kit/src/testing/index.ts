export { listen } from "./listen.ts";
export { createServiceDatabase, type ServiceDatabase } from "./service-database.ts";
export { type Statement, statementsOf, tablesScanned } from "./statements.ts";

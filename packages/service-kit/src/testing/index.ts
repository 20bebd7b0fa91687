export { selectAllEntries, selectEntries } from "../audit-log/audit-log.store.ts";
export { installTracer, type Span, type Tracer } from "../tracing/tracer.ts";
export { createAuthority, createCertificates } from "./certificates.ts";
export { listen } from "./listen.ts";
export { createServiceDatabase, type ServiceDatabase, type ServiceDatabaseOptions } from "./service-database.ts";
export { AWAY, routeByWorkspace } from "./shards.ts";
export { explainAnalyze, findSequentialScans, type PlanNode, recordStatements, type Statement } from "./statements.ts";

/** The services that have admin services, named as their proto packages are. */
export type AdminService = "conversation" | "quota" | "llm";

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Manifest } from "./manifest.ts";

/** The kinds of the manifests, except hooks, that replicas.chart.test.ts renders, and their plurals in URLs. Helm looks up each of these kinds. */
const KINDS: [apiVersion: string, kind: string, plural: string][] = [
  ["v1", "Service", "services"],
  ["v1", "ServiceAccount", "serviceaccounts"],
  ["apps/v1", "Deployment", "deployments"],
  ["autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"],
  ["networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"],
  ["policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"],
];
const NOT_FOUND = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 };

export type ApiServer = {
  url: string;
  requestedPaths: string[];
  stop(): Promise<void>;
};

/** Starts a fake Kubernetes API server for `helm template --dry-run=server`. It serves API discovery, and the objects in `namespace`. */
export async function startApiServer(namespace: string, objects: readonly Manifest[]): Promise<ApiServer> {
  const responses = new Map<string, object>(discovery());
  for (const object of objects) {
    const [, , plural] = KINDS.find(([, kind]) => kind === object.kind) ?? [];
    responses.set(`${rootOf(object.apiVersion)}/namespaces/${namespace}/${plural}/${object.metadata.name}`, object);
  }
  const requestedPaths: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(String(request.url), "http://localhost");
    requestedPaths.push(pathname);
    const body = responses.get(pathname);
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? NOT_FOUND));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requestedPaths,
    async stop() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

/** Returns the responses to API discovery: the server's version, its API groups, and the resources of each group version. */
function discovery(): [path: string, body: object][] {
  const apiVersions = [...new Set(KINDS.map(([apiVersion]) => apiVersion))];
  const groups = apiVersions.flatMap((groupVersion) => {
    const [name, version] = groupVersion.split("/");
    const versions = [{ groupVersion, version }];
    return version === undefined ? [] : [{ name, versions, preferredVersion: versions[0] }];
  });
  return [
    ["/version", { major: "1", minor: "34", gitVersion: "v1.34.4" }],
    ["/api", { kind: "APIVersions", versions: ["v1"] }],
    ["/apis", { kind: "APIGroupList", apiVersion: "v1", groups }],
    ...apiVersions.map((each): [string, object] => [rootOf(each), resourceList(each)]),
  ];
}

function resourceList(groupVersion: string): object {
  const resources = KINDS.filter(([apiVersion]) => apiVersion === groupVersion).map(([, kind, name]) => {
    return { name, singularName: kind.toLowerCase(), namespaced: true, kind, verbs: ["get"] };
  });
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources };
}

/** Returns the URL path of an API version. */
function rootOf(apiVersion: string): string {
  return apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
}

import {
  allContainers,
  type Container,
  type Labels,
  type Manifest,
  nameOf,
  ofKind,
  selects,
  workloads,
} from "../manifest.ts";

/**
 * Reports ports on which no container listens, in Services, probes, network policies, PodMonitors, Ingresses, HTTPRoutes and environment
 * variables.
 */
export function portProblems(manifests: readonly Manifest[]): string[] {
  return [
    ...servicePortProblems(manifests),
    ...probePortProblems(manifests),
    ...policyAndMonitorPortProblems(manifests),
    ...backendPortProblems(manifests),
    ...addressProblems(manifests),
  ];
}

function containersOf(manifests: readonly Manifest[], selector: Labels): Container[] {
  return workloads(manifests)
    .filter(({ labels }) => selects(selector, labels))
    .flatMap(({ pod }) => pod.containers);
}

function hasPort(containers: readonly Container[], port: string | number): boolean {
  return containers.some(({ ports = [] }) => ports.some((each) => each.name === port || each.containerPort === port));
}

function servicePortProblems(manifests: readonly Manifest[]): string[] {
  return ofKind(manifests, "Service").flatMap((service) => {
    const containers = containersOf(manifests, service.spec.selector as Labels);
    const ports = service.spec.ports as { name: string; port: number; targetPort: string | number }[];
    return ports.flatMap(({ port, targetPort }) => {
      if (!hasPort(containers, targetPort)) return [`${nameOf(service)}: no container has the port ${targetPort}`];
      // Clients of a headless Service connect directly to the pod, so the container must listen on the Service's port.
      if (service.spec.clusterIP === "None" && !hasPort(containers, port))
        return [`${nameOf(service)}: headless, and no container listens on ${port}`];
      return [];
    });
  });
}

const PROBES = ["startupProbe", "readinessProbe", "livenessProbe"];

function probePortProblems(manifests: readonly Manifest[]): string[] {
  return workloads(manifests).flatMap(({ manifest, pod }) =>
    pod.containers.flatMap((container) =>
      PROBES.flatMap((name) => {
        const probe = container[name] as { httpGet?: Port; grpc?: Port } | undefined;
        const port = (probe?.httpGet ?? probe?.grpc)?.port;
        if (port === undefined || hasPort([container], port)) return [];
        return [`${nameOf(manifest)}: the ${name} uses the port ${port}, which ${container.name} does not have`];
      }),
    ),
  );
}

type Port = { port: string | number };

function policyAndMonitorPortProblems(manifests: readonly Manifest[]): string[] {
  const policyProblems = ofKind(manifests, "NetworkPolicy").flatMap((policy) => {
    const containers = containersOf(manifests, policy.spec.podSelector.matchLabels as Labels);
    const ingress = (policy.spec.ingress ?? []) as { ports: Port[] }[];
    return ingress.flatMap(({ ports }) =>
      ports.flatMap(({ port }) =>
        hasPort(containers, port) ? [] : [`${nameOf(policy)}: its pods have no port ${port}`],
      ),
    );
  });
  const monitorProblems = ofKind(manifests, "PodMonitor").flatMap((monitor) => {
    const containers = containersOf(manifests, monitor.spec.selector.matchLabels as Labels);
    const endpoints = monitor.spec.podMetricsEndpoints as { port: string }[];
    return endpoints.flatMap(({ port }) =>
      hasPort(containers, port) ? [] : [`${nameOf(monitor)}: no pod has the port ${port}`],
    );
  });
  return [...policyProblems, ...monitorProblems];
}

function backendPortProblems(manifests: readonly Manifest[]): string[] {
  const services = new Map(ofKind(manifests, "Service").map((service) => [service.metadata.name, service]));
  const check = (from: Manifest, name: string, port: string | number) => {
    const ports = (services.get(name)?.spec.ports ?? []) as { name: string; port: number }[];
    return ports.some((each) => each.name === port || each.port === port)
      ? []
      : [`${nameOf(from)}: there is no Service ${name} with the port ${port}`];
  };
  const ingressProblems = ofKind(manifests, "Ingress").flatMap((ingress) =>
    (ingress.spec.rules as { http: { paths: { backend: { service: { name: string; port: { name: string } } } }[] } }[])
      .flatMap(({ http }) => http.paths)
      .flatMap(({ backend }) => check(ingress, backend.service.name, backend.service.port.name)),
  );
  const routeProblems = ofKind(manifests, "HTTPRoute").flatMap((route) =>
    (route.spec.rules as { backendRefs: { name: string; port: number }[] }[])
      .flatMap(({ backendRefs }) => backendRefs)
      .flatMap(({ name, port }) => check(route, name, port)),
  );
  return [...ingressProblems, ...routeProblems];
}

/** Environment variables that contain addresses of the release's Services. */
const ADDRESS_VARIABLE = /_TARGET$|^PARLEY_.*_URL$|^(?:CONVERSATION|QUOTA|EDGE)_URL$/;
const SCHEME = /^(?:names:\/\/\/|https?:\/\/)/;
const ADDRESS = /^([^.]+)\.[^.]+\.svc:(\d+)$/;

function addressProblems(manifests: readonly Manifest[]): string[] {
  const services = new Map(ofKind(manifests, "Service").map((service) => [service.metadata.name, service]));
  return workloads(manifests).flatMap(({ manifest, pod }) =>
    allContainers(pod).flatMap(({ env = [] }) =>
      env.flatMap(({ name, value = "" }) => {
        if (!ADDRESS_VARIABLE.test(name)) return [];
        const isServed = (address: string) => {
          const [, host = "", port] = ADDRESS.exec(address) ?? [];
          const ports = (services.get(host)?.spec.ports ?? []) as { port: number }[];
          return ports.some((each) => each.port === Number(port));
        };
        return value
          .replace(SCHEME, "")
          .split(",")
          .filter((address) => !isServed(address))
          .map((address) => `${nameOf(manifest)}: ${name} has ${address}, where nothing listens`);
      }),
    ),
  );
}

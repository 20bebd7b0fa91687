import { describe, expect, it } from "vitest";
import { runHelmTemplate } from "./render.ts";

describe("values schema", () => {
  it.each([
    ["an unknown key", "edge.replica=3", "'replica' not allowed"],
    ["a string instead of a number", "edge.replicas=many", "got string, want integer"],
    ["a value outside the enum", "logLevel=loud", "value must be one of"],
    ["an invalid digest", "edge.image.digest=latest", "does not match pattern"],
    ["an address that is not a CIDR", "edge.trustedProxies[0]=loadbalancer", "does not match pattern"],
    ["a prefix that is too long for IPv4", "edge.trustedProxies[0]=10.0.0.0/33", "/edge/trustedProxies/0"],
    ["a prefix that is too long for IPv6", "edge.trustedProxies[0]=fd00::/129", "/edge/trustedProxies/0"],
    ["an octet above 255", "networkPolicy.privateRanges[0]=10.0.0.256/8", "/networkPolicy/privateRanges/0"],
    ["an invalid CIDR of a peer", "networkPolicy.database[0].ipBlock.cidr=10.0.0.0/33", "/ipBlock/cidr"],
    ["a scheme in an ingress host", "ingress.hosts[0]=https://chat.example.com", "/ingress/hosts/0"],
    ["a port in an ingress host", "ingress.hosts[0]=chat.example.com:443", "/ingress/hosts/0"],
    ["an empty ingress host", "ingress.hosts[0]=", "/ingress/hosts/0"],
    ["a path in a host name of the HTTPRoute", "httpRoute.hostnames[0]=chat.example.com/x", "/httpRoute/hostnames/0"],
    ["a scheme in the database's host", "database.host=postgres://db.example.com", "/database/host"],
    ["a port in the database's host", "database.host=db.example.com:5432", "/database/host"],
    ["an image's name in the tag", "image.tag=parley/edge:1.2.3", "/image/tag"],
    ["a scheme in the registry", "image.registry=https://registry.example.com", "/image/registry"],
    ["a slash at the end of the registry", "image.registry=registry.example.com/", "/image/registry"],
    ["a name that no Secret can have", "existingSecret=Parley_Secret", "/existingSecret"],
    ["a list that is a string", "edge.trustedProxies=10.0.0.0/8", "/edge/trustedProxies"],
    ["a database without a name", "database.name=", "/database/name"],
    ["a JWKS URL without a scheme", "sso.jwksUrl=sso.example.com/jwks.json", "/sso/jwksUrl"],
    ["an issuer that is not a URL", "sso.issuer=sso.example.com", "/sso/issuer"],
    ["a scrape interval above 30 s", "podMonitor.interval=1m", "/podMonitor/interval"],
  ])("refuses %s", async (_, set, reason) => {
    const { code, output } = await runHelmTemplate("minimal", [set]);
    expect(code).not.toBe(0);
    expect(output).toContain(reason);
  });

  it.each(["registry.example.com", "registry:5000/team/parley", "mirror.example.com/ghcr.io"])(
    "accepts the registry %s",
    async (registry) => {
      const { code, output } = await runHelmTemplate("minimal", [`image.registry=${registry}`]);
      expect(code, output).toBe(0);
      expect(output).toContain(`image: ${registry}/parley/quota:`);
    },
  );
});

// The templates check values that depend on each other, because the JSON schema cannot express such dependencies.
it.each([
  ["console", "console.url=", "console.url is empty"],
  ["console", "console.edgeUrl=", "console.edgeUrl is empty"],
  ["console", "console.url=https://chat.example.com", "console.url has a host of the edge"],
  ["console", "sso.roleClaim=null,sso.ownerRoles=null", "sso.roleClaim is empty"],
  ["minimal", "ingress.enabled=true", "edge.trustedProxies is empty"],
  ["gateway-api", "edge.trustedProxies=null", "edge.trustedProxies is empty"],
  ["gateway-api", "httpRoute.parentRefs=null", "httpRoute.parentRefs is empty"],
  ["production", "ingress.hosts=null", "ingress.hosts is empty"],
  ["production", "mtls.issuerRef=null", "mtls.issuerRef is empty"],
  ["minimal", "mtls.opsPorts=true", "mtls.opsPorts needs mtls.enabled"],
  ["trial", "mtls.enabled=true,mtls.certManager=false,mtls.opsPorts=true", "mtls.opsPorts cannot be used in a trial"],
  ["production", "doctor.origin=", "doctor.origin is empty"],
  ["production", "caBundle.existingConfigMap=own", "caBundle.containsOpsAuthority is false"],
  ["console", "cli.enabled=false,caBundle.existingConfigMap=own", "caBundle.containsOpsAuthority is false"],
  ["minimal", "doctor.publicKey=svc_pk_x,doctor.origin=https://a.example", "doctor.url is empty"],
  ["production", "llmProxy.existingConfigMap=own", "mutually exclusive"],
  ["minimal", "existingSecret=", "existingSecret is empty"],
  ["minimal", "database.host=", "database.host is empty"],
  ["minimal", "redis.enabled=true,redis.mode=sentinel", "redis.sentinelMaster is empty"],
  ["minimal", "sso.issuer=", "sso.issuer is empty"],
  ["minimal", "sso.roleClaim=roles", "sso.ownerRoles, sso.agentRoles and sso.viewerRoles are empty"],
  ["minimal", "sso.viewerRoles={a}", "sso.roleClaim is empty"],
  ["minimal", "sso.agentRoles={a}", "sso.roleClaim is empty"],
])("refuses %s values with %s", async (name, set, reason) => {
  const { code, output } = await runHelmTemplate(name, [set]);
  expect(code).toBe(1);
  expect(output).toContain(reason);
});

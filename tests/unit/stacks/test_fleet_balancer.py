"""A fleet's load balancer: who may come in, what is served, and times that agree on both sides of a stream."""

import pytest

from stacks.constructs.fleet_place import PRIVATE_RANGES
from stacks.domain.buildable import refuse_unbuildable
from stacks.domain.errors import InputError
from stacks.domain.fleet_plan import FleetPlan
from tests.environments import plan_of
from tests.fleet_plans import BROUGHT, CERTIFICATE, FLEET_PLANS, JWT, fleet_changes
from tests.synthesized import Template, cluster, fleet, network, plans, resources, the_one

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
every_fleet = pytest.mark.parametrize("plan", FLEET_PLANS)
RULE, GROUP = "AWS::ElasticLoadBalancingV2::ListenerRule", "AWS::ElasticLoadBalancingV2::TargetGroup"
ASLEEP = {"fleet-asleep", "fleet-fallback"}


def planned(plan: str) -> FleetPlan:
    return plans()[plan].fleet("chat")


def part(plan: str, id_: str) -> Template:
    properties: Template = fleet(plan)["Resources"][id_]["Properties"]
    return properties


def attributes(properties: Template, name: str) -> dict[str, str]:
    return {each["Key"]: each["Value"] for each in properties[name]}


def forward(plan: str) -> dict[str, int]:
    """The served rule's weights, by target group."""
    action = part(plan, "ListenerRule")["Actions"][-1]
    assert action["Type"] == "forward"
    tuples = action["ForwardConfig"]["TargetGroups"]
    return {each["TargetGroupArn"]["Ref"]: each["Weight"] for each in tuples}


@every_fleet
def test_only_who_the_file_lets_in_reaches_it(plan: str) -> None:
    balancer, group = part(plan, "LoadBalancer"), part(plan, "BalancerSecurityGroup")
    admitted = tuple(rule["CidrIp"] for rule in group["SecurityGroupIngress"])
    if plan == "fleet-public":
        assert balancer["Scheme"] == "internet-facing"
        assert admitted == ("0.0.0.0/0",)
    else:
        assert balancer["Scheme"] == "internal"
        assert admitted == (PRIVATE_RANGES if plan == "fleet-brought" else ("10.42.0.0/16",))


@every_fleet
def test_nodes_admit_the_load_balancer_on_the_replicas_ports_and_nobody_else(plan: str) -> None:
    sides = {"Neuron": [one.port for one in planned(plan).slices]}
    if planned(plan).fallback:
        sides["Gpu"] = [32768, 65535]
    for side, ports in sides.items():
        (rule,) = part(plan, f"{side}SecurityGroup")["SecurityGroupIngress"]
        assert rule["SourceSecurityGroupId"] == {"Fn::GetAtt": ["BalancerSecurityGroup", "GroupId"]}
        assert (rule["FromPort"], rule["ToPort"]) == (min(ports), max(ports))
        way = part(plan, f"BalancerTo{side}")
        assert (way["FromPort"], way["ToPort"]) == (min(ports), max(ports))


@every_fleet
def test_the_load_balancer_itself_speaks_to_replicas_and_key_servers_only(plan: str) -> None:
    (rule,) = part(plan, "BalancerSecurityGroup")["SecurityGroupEgress"]
    if planned(plan).settings.listener.jwt:
        assert (rule["FromPort"], rule["CidrIp"]) == (443, "0.0.0.0/0")
    else:
        assert rule["CidrIp"] == "255.255.255.255/32"


@every_fleet
def test_times_agree_on_both_sides_of_a_stream(plan: str) -> None:
    times = planned(plan).times
    idle = int(
        attributes(part(plan, "LoadBalancer"), "LoadBalancerAttributes")["idle_timeout.timeout_seconds"]
    )
    assert idle == times.idle_timeout < times.keep_alive
    for id_, body in resources(fleet(plan), GROUP).items():
        if id_ == "WakerTargetGroup":
            continue
        found = attributes(body["Properties"], "TargetGroupAttributes")
        assert int(found["deregistration_delay.timeout_seconds"]) == times.deregistration_delay
        assert times.stop >= times.shutdown + 30


@every_fleet
def test_requests_go_where_fewest_wait_and_never_with_a_slow_start_or_stickiness(plan: str) -> None:
    for id_ in set(resources(fleet(plan), GROUP)) - {"WakerTargetGroup"}:
        found = attributes(part(plan, id_), "TargetGroupAttributes")
        assert found["load_balancing.algorithm.type"] == "least_outstanding_requests"
        assert found["stickiness.enabled"] == "false"
        assert "slow_start.duration_seconds" not in found


@every_fleet
def test_health_checks_ask_the_engine_and_give_a_busy_one_time(plan: str) -> None:
    group = part(plan, "NeuronTargetGroup")
    expected = "/ready" if planned(plan).settings.engine == "encoder" else "/health"
    assert group["HealthCheckPath"] == expected
    assert group["HealthCheckPort"] == "traffic-port"
    assert group["HealthCheckTimeoutSeconds"] < group["HealthCheckIntervalSeconds"]
    assert group["HealthCheckIntervalSeconds"] * group["UnhealthyThresholdCount"] <= 60
    assert group["TargetType"] == ("ip" if plan == "fleet-managed" else "instance")


@every_fleet
def test_engines_metrics_are_hidden_before_anything_is_served(plan: str) -> None:
    hidden, served = part(plan, "HiddenPathsRule"), part(plan, "ListenerRule")
    assert hidden["Priority"] < served["Priority"]
    assert hidden["Actions"][0]["Type"] == "fixed-response"
    assert "/metrics" in str(hidden["Conditions"])
    (paths,) = (condition["PathPatternConfig"]["Values"] for condition in served["Conditions"])
    assert paths == (["/*"] if plan == "fleet-brought" else ["/v1/*"])
    (default,) = part(plan, "Listener")["DefaultActions"]
    assert default["FixedResponseConfig"]["StatusCode"] == "404"


@every_fleet
def test_first_weights_are_the_sides_of_the_plan_and_a_sleeping_fleet_is_the_wakers(plan: str) -> None:
    expected = {"NeuronTargetGroup": 100}
    if plan == "fleet-weighted":
        expected = {"NeuronTargetGroup": 80, "GpuTargetGroup": 20}
    elif plan in ASLEEP:
        gpu = {"GpuTargetGroup": 0} if planned(plan).fallback else {}
        expected = {"NeuronTargetGroup": 0, **gpu, "WakerTargetGroup": 100}
    assert forward(plan) == expected
    assert len(expected) <= 5


@every_fleet
def test_the_rule_serves_before_a_service_needs_its_groups(plan: str) -> None:
    used = {each["TargetGroupArn"]["Ref"] for body in resources(fleet(plan), "AWS::ECS::Service").values()
            for each in body["Properties"]["LoadBalancers"]}  # fmt: skip
    assert used <= set(forward(plan))


def test_tls_with_a_certificate_and_tokens_are_checked_before_anything_is_forwarded() -> None:
    listener = part("fleet-public", "Listener")
    assert (listener["Port"], listener["Protocol"]) == (443, "HTTPS")
    assert listener["Certificates"] == [{"CertificateArn": CERTIFICATE}]
    assert "TLS13" in listener["SslPolicy"]
    first, second = part("fleet-public", "ListenerRule")["Actions"]
    assert (first["Type"], first["Order"], second["Order"]) == ("jwt-validation", 1, 2)
    assert first["JwtValidationConfig"] == {
        "Issuer": JWT["issuer"],
        "JwksEndpoint": JWT["jwks_endpoint"],
    }


@every_fleet
def test_without_a_certificate_there_is_no_check_of_tokens_and_no_public_address(plan: str) -> None:
    if plan == "fleet-public":
        return
    listener = part(plan, "Listener")
    assert (listener["Port"], listener["Protocol"]) == (80, "HTTP")
    assert len(part(plan, "ListenerRule")["Actions"]) == 1
    assert part(plan, "LoadBalancer")["Scheme"] == "internal"


@every_fleet
def test_it_can_be_deleted_and_refuses_malformed_headers(plan: str) -> None:
    found = attributes(part(plan, "LoadBalancer"), "LoadBalancerAttributes")
    assert found["deletion_protection.enabled"] == "false"
    assert found["routing.http.drop_invalid_header_fields.enabled"] == "true"


class TestWhereItIs:
    def test_in_two_zones_with_a_way_out_through_nat(self) -> None:
        subnets = resources(network("fleet-inf2"), "AWS::EC2::Subnet")
        zones = {
            id_: body["Properties"]["AvailabilityZoneId"]
            for id_, body in subnets.items()
            if id_.startswith("Balancer")
        }
        assert set(zones) == {"BalancerFirstSubnet", "BalancerSecondSubnet"}
        assert zones["BalancerFirstSubnet"] == "use2-az3"
        assert len(set(zones.values())) == 2
        route = network("fleet-inf2")["Resources"]["BalancerSecondDefaultRoute"]["Properties"]
        assert "NatGatewayId" in route

    def test_public_ones_have_subnets_of_their_own_with_a_way_in(self) -> None:
        found = network("fleet-public")["Resources"]
        assert "BalancerFirstSubnet" not in found
        assert "GatewayId" in found["PublicBalancerFirstDefaultRoute"]["Properties"]
        assert found["PublicBalancerFirstSubnet"]["Properties"]["MapPublicIpOnLaunch"] is False

    @pytest.mark.parametrize("plan", ["fleet-inf2", "fleet-public"])
    def test_no_subnet_overlaps_another(self, plan: str) -> None:
        import ipaddress

        ranges = [
            ipaddress.ip_network(body["Properties"]["CidrBlock"])
            for body in resources(network(plan), "AWS::EC2::Subnet").values()
        ]
        assert len(ranges) == 4
        assert not [(a, b) for a in ranges for b in ranges if a is not b and a.overlaps(b)]
        assert all(each.prefixlen <= 28 for each in ranges)

    def test_an_environment_without_fleets_has_none(self) -> None:
        assert "Balancer" not in str(network("trn1-pilot"))
        assert "LoadBalancer" not in str(cluster("trn1-pilot"))

    def test_in_a_brought_network_it_is_in_the_users_subnets(self) -> None:
        assert part("fleet-brought", "LoadBalancer")["Subnets"] == BROUGHT["load_balancer_subnet_ids"]
        group = part("fleet-brought", "NeuronTargetGroup")
        assert group["VpcId"] == BROUGHT["vpc"]

    @pytest.mark.parametrize("subnets", [[], ["subnet-0aaaabbbbccccddd1"], ["subnet-0aaaabbbbccccddd1"] * 2])
    def test_a_brought_network_without_two_subnets_is_refused_with_what_to_write(
        self, subnets: list[str]
    ) -> None:
        brought = {**BROUGHT, "load_balancer_subnet_ids": subnets}
        with pytest.raises(InputError, match="two of its zones") as refused:
            refuse_unbuildable(plan_of({**fleet_changes(), "network": brought}))
        assert "load_balancer_subnet_ids" in str(refused.value.hint)

    def test_a_network_too_small_for_a_public_one_is_refused(self) -> None:
        listener = {"public": True, "open_without_authentication": "a demo for a day"}
        changes = {
            **fleet_changes(listener=listener),
            "network": {"zone_id": "use2-az3", "cidr": "10.1.0.0/24"},
        }
        with pytest.raises(InputError, match="no room"):
            refuse_unbuildable(plan_of(changes))
        changes["network"] = {"zone_id": "use2-az3", "cidr": "10.1.0.0/23"}
        refuse_unbuildable(plan_of(changes))

    def test_the_smallest_network_holds_an_internal_one(self) -> None:
        refuse_unbuildable(
            plan_of({**fleet_changes(), "network": {"zone_id": "use2-az3", "cidr": "10.1.0.0/24"}})
        )

    @pytest.mark.parametrize("name", ["aws-pilot", "ecs-pilot", "fargate1"])
    def test_names_that_ecs_keeps_for_itself_are_refused(self, name: str) -> None:
        with pytest.raises(InputError, match="ECS refuses"):
            refuse_unbuildable(plan_of({**fleet_changes(), "name": name}))
        refuse_unbuildable(plan_of({"name": name}))


def test_there_is_one_load_balancer_a_fleet() -> None:
    assert the_one(fleet("fleet-slices"), "AWS::ElasticLoadBalancingV2::LoadBalancer")
    assert set(resources(fleet("fleet-slices"), RULE)) == {"HiddenPathsRule", "ListenerRule"}

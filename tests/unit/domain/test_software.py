"""Images, AMIs and drivers: which pairs are refused, which are known to fit, and which nothing speaks of."""

import re
from datetime import date

import pytest

from stacks.domain.catalog import load_catalog
from stacks.domain.catalog.loading import read_data
from stacks.domain.software import (
    EcsNeuronAmi,
    Image,
    choose_ami,
    choose_image,
    driver_accepts_runtime,
    driver_verdict,
    ecs_neuron_amis,
    efa_installer,
    find_ami,
    find_image,
    frameworks,
    images,
    removed_variables,
    runtime_variables,
    sdks,
)

TRAINING = [image for image in images() if image.purpose == "training"]

# Until 2026-01-05 the AMI's driver was pinned by hand; since then it is the newest one of the day.
UNPINNED_PERIODS = [p for p in read_data("software.json")["ecs_neuron_ami_drivers"] if p["driver"] != "2.21"]


def chosen_image(framework: str, family: str, sdk: str = "auto") -> Image:
    image = choose_image(framework, family, sdk)
    assert image is not None
    return image


class TestDriverAndRuntime:
    @pytest.mark.parametrize(
        ("driver", "runtime", "accepted", "why"),
        [
            # P-42 and the pair that breaks the last PyTorch training image on a new AMI.
            ("2.26", "2.32.31", False, "runtime 2.32 does not work with driver 2.26 or older"),
            ("2.21", "2.32.31.0", False, "runtime 2.32 does not work"),
            ("2.29", "2.32.31", False, "driver 2.29 and newer need runtime 2.33 or newer"),
            ("2.30.2.0", "2.30.51", False, "driver 2.29 and newer"),
            ("2.28", "2.32.31", True, "not older than 2.28.0.0"),
            ("2.28", "2.30.51", True, "not older than 2.26.5.0"),
            ("2.26", "2.30.51", True, "not older"),
            ("2.30", "2.34.10", True, "not older than 2.30.2.0"),
            ("2.31.7.0", "2.34.10", True, "not older"),
            ("2.30", "2.33.10", True, "not older than 2.29.0.0"),
            ("2.27", "2.32.31", None, "older than 2.28.0.0"),
            ("2.29", "2.34.10", None, "older than 2.30.2.0"),
            ("2.26", "2.34.10", None, "older than"),
            ("2.28", "1.0.0", None, "no SDK in the bundled data"),
            (None, "2.34.10", None, "version of the driver is not known"),
            ("2.30", None, None, "version of the runtime is not known"),
            (None, None, None, "not known"),
        ],
    )
    def test_verdict(self, driver: str | None, runtime: str | None, accepted: bool | None, why: str) -> None:
        verdict = driver_verdict(driver, runtime)
        assert verdict.accepted is accepted
        assert why in verdict.why
        assert driver_accepts_runtime(driver, runtime) is accepted

    def test_a_refusal_names_its_source(self) -> None:
        assert "release-notes/components/runtime.rst" in driver_verdict("2.29", "2.32.31").why

    def test_every_sdk_goes_with_its_own_driver(self) -> None:
        assert [s.version for s in sdks() if not driver_accepts_runtime(s.driver, s.runtime)] == []


class TestChooseImage:
    @pytest.mark.parametrize(
        ("framework", "family", "sdk", "tag_part"),
        [
            ("jax", "trn2", "auto", "sdk2.32.0"),
            ("jax", "trn1", "auto", "sdk2.32.0"),
            ("jax", "trn1", "2.28.0", "sdk2.28.0"),
            ("torch-neuronx", "trn1", "auto", "sdk2.30.0"),
            ("torch-neuronx", "trn2", "2.28.0", "sdk2.28.0"),
        ],
    )
    def test_the_newest_that_fits(self, framework: str, family: str, sdk: str, tag_part: str) -> None:
        image = chosen_image(framework, family, sdk)
        assert tag_part in image.tag
        assert image.purpose == "training"

    @pytest.mark.parametrize(
        ("framework", "family", "sdk"),
        [
            ("jax", "inf1", "auto"),
            ("jax", "p5", "auto"),
            ("torch-neuronx", "trn1", "2.32.0"),
            ("jax", "trn1", "9.9.9"),
            ("tensorflow", "trn1", "auto"),
            ("vllm-neuron", "trn2", "auto"),
        ],
    )
    def test_none_where_nothing_fits(self, framework: str, family: str, sdk: str) -> None:
        assert choose_image(framework, family, sdk) is None

    def test_the_frameworks_are_those_that_can_be_trained_with(self) -> None:
        assert frameworks() == ("jax", "torch-neuronx")

    def test_families_exist_or_are_trn3(self) -> None:
        known = {t.family for t in load_catalog().instance_types.values()} | {"trn3"}
        assert set().union(*(image.families for image in images())) <= known


class TestChooseAmi:
    def test_jax_takes_the_newest(self) -> None:
        ami = choose_ami([chosen_image("jax", "trn2")])
        assert ami == ecs_neuron_amis()[-1]

    def test_the_last_pytorch_image_takes_the_last_ami_before_driver_2_29(self) -> None:
        ami = choose_ami([chosen_image("torch-neuronx", "trn1")])
        assert ami is not None
        assert (ami.date, ami.driver, ami.driver_is_derived) == ("20260701", "2.28", True)

    def test_sdk_2_28_takes_the_driver_it_shipped_with(self) -> None:
        ami = choose_ami([chosen_image("torch-neuronx", "trn1", "2.28.0")])
        assert ami is not None
        assert (ami.date, ami.driver) == ("20260408", "2.26")

    def test_images_of_two_sdks_take_what_fits_both(self) -> None:
        pair = [chosen_image("torch-neuronx", "trn1"), chosen_image("torch-neuronx", "trn1", "2.28.0")]
        ami = choose_ami(pair)
        assert ami is not None
        assert ami.driver == "2.28"

    def test_none_where_no_driver_fits_both(self) -> None:
        assert choose_ami([chosen_image("jax", "trn1"), chosen_image("torch-neuronx", "trn1")]) is None

    def test_an_unknown_runtime_is_never_taken_to_fit(self) -> None:
        unknown = next(image for image in images() if image.runtime is None)
        assert choose_ami([unknown]) is None

    def test_without_images_the_newest(self) -> None:
        assert choose_ami([]) == ecs_neuron_amis()[-1]

    @pytest.mark.parametrize("image", TRAINING, ids=lambda image: image.tag)
    def test_every_training_image_has_an_ami(self, image: Image) -> None:
        assert choose_ami([image]) is not None


class TestAmis:
    def test_the_ssm_parameter_pins_the_date(self) -> None:
        pattern = (
            r"/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/"
            r"al2023-ami-ecs-neuron-hvm-2023\.0\.20\d{6}-kernel-6\.1-x86_64/image_id"
        )
        assert all(re.fullmatch(pattern, ami.ssm_parameter) for ami in ecs_neuron_amis())

    def test_a_named_parameter_is_found_and_an_id_is_not(self) -> None:
        ami = ecs_neuron_amis()[-1]
        assert find_ami(ami.ssm_parameter) == ami
        assert find_ami("ami-0123456789abcdef0") is None
        assert (
            find_ami("/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id") is None
        )

    def test_the_root_volume_is_small_and_named(self) -> None:
        assert {(ami.root_device_name, ami.default_root_gib) for ami in ecs_neuron_amis()} == {
            ("/dev/xvda", 30)
        }

    @pytest.mark.parametrize(
        ("day", "driver"),
        [
            ("20260108", "2.21"),
            ("20260408", "2.26"),
            ("20260518", "2.27"),
            ("20260701", "2.28"),
            ("20260714", "2.29"),
        ],
    )
    def test_the_date_gives_the_driver(self, day: str, driver: str) -> None:
        assert self.of(day).driver == driver

    @pytest.mark.parametrize("day", ["20260114", "20260226", "20260707", "20250923"])
    def test_an_ami_of_a_release_day_or_of_the_time_before_the_table_has_no_known_driver(
        self, day: str
    ) -> None:
        assert self.of(day).driver is None

    @pytest.mark.parametrize("period", UNPINNED_PERIODS, ids=lambda period: period["driver"])
    def test_a_driver_period_lies_between_two_releases(self, period: dict[str, str]) -> None:
        """The newest SDK released before the period brought its driver; none was released in it."""
        first, last = (date.fromisoformat(period[key]) for key in ("first_date", "last_date"))
        released = {date.fromisoformat(s.date): s.driver for s in sdks() if s.date}
        newest = max(day for day in released if day < first)
        assert str(released[newest]).startswith(period["driver"] + ".")
        assert [day for day in released if first <= day <= last] == []

    @staticmethod
    def of(day: str) -> EcsNeuronAmi:
        return next(ami for ami in ecs_neuron_amis() if ami.date == day)


class TestFindImage:
    def test_by_tag_with_or_without_a_digest(self) -> None:
        image = chosen_image("jax", "trn1")
        assert find_image(image.uri) == image
        assert find_image(f"{image.uri}@sha256:{'0' * 64}") == image
        assert find_image("public.ecr.aws/neuron/jax-training-neuronx:latest") is None

    def test_every_tag_names_its_sdk_and_python(self) -> None:
        for image in images():
            assert f"-sdk{image.sdk}-" in image.tag
            assert f"-py{image.python.replace('.', '')}-" in image.tag

    def test_what_a_training_image_lacks_is_noted(self) -> None:
        assert any("no boto3" in note for note in chosen_image("jax", "trn1").notes)


class TestVariablesAndInstaller:
    def test_a_removed_variable_is_removed_from_its_sdk_on(self) -> None:
        gone = {variable.name for variable in removed_variables("2.31.0")}
        assert gone == {"NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS"}
        assert {variable.name for variable in removed_variables("2.32.0")} == gone
        assert removed_variables("2.30.0") == ()

    def test_names_are_names(self) -> None:
        names = [variable.name for variable in runtime_variables()]
        assert [name for name in names if not re.fullmatch(r"[A-Z][A-Z0-9_]+\*?", name)] == []
        assert len(names) == len(set(names))

    def test_the_installer_is_pinned_and_can_be_verified(self) -> None:
        installer = efa_installer()
        assert installer.url.endswith(f"/aws-efa-installer-{installer.version}.tar.gz")
        assert installer.signature_url == installer.url + ".sig"
        assert re.fullmatch(r"[0-9a-f]{64}", installer.sha256)
        assert re.fullmatch(r"[0-9A-F]{40}", installer.key_fingerprint)

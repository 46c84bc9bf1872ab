#!/usr/bin/env python3
"""Reads what `counterbeam quantize` writes with compressed-tensors and transformers, and compares.

Usage: quantize_parity.py COUNTERBEAM MODEL_FOLDER... (needs torch, transformers and compressed-tensors from PyPI)
For every model and format, without calibration and, if the model has a tokenizer, with it:
- every coded matrix, decoded by compressed-tensors in float32, has the relative squared error to its source that quantize reports;
- tensors that stay dense are those of the source, bit for bit;
- transformers loads the folder as it is, without a missing or unexpected tensor, and its logits in float32 are ours within a
  normalised squared error of 1e-9.
"""
import json, os, pathlib, re, subprocess, sys, tempfile, warnings

os.environ['TQDM_DISABLE'] = '1'
import numpy, torch, transformers
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationConfig
from compressed_tensors.utils.match import match_named_modules
from safetensors.torch import load_file

warnings.filterwarnings('ignore')
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
TEXT = 'Compute 12 + 3 * 7. Let us see. The product comes first. 3 * 7 = 21, which leaves 12 + 21. 12 + 21 = 33. ' * 20
IDS = [5, 17, 300, 41, 9, 8, 700, 23, 23, 512, 77, 1, 0, 64, 65, 66, 1000, 12, 99, 250]


def tensors_of(folder):
    return {name: tensor for file in sorted(folder.glob('model*.safetensors')) for name, tensor in load_file(file).items()}


def decoded(made, module, config):
    """The matrix of a module as compressed-tensors decodes it by the scheme that config.json gives it, in float32."""
    [scheme] = [scheme for scheme in config.config_groups.values()
                if any(target == 'Linear' or re.match(target.removeprefix('re:'), module) for target in scheme.targets)]
    state = {name.removeprefix(module + '.'): tensor for name, tensor in made.items() if name.startswith(module + '.')}
    state['weight_scale'] = state['weight_scale'].float()
    return BaseCompressor.get_value_from_registry(config.format).decompress(state, scheme)['weight']


def config_of(folder):
    return QuantizationConfig.model_validate(json.loads((folder / 'config.json').read_text())['quantization_config'])


def compare_weights(source, made, config):
    modules = [name.removesuffix('.weight_scale') for name in made if name.endswith('.weight_scale')]
    error = energy = 0.0
    for module in modules:
        weights = source.pop(module + '.weight').float()
        error += (weights.double() - decoded(made, module, config).double()).square().sum().item()
        energy += weights.double().square().sum().item()
    for name, tensor in source.items():
        assert tensor.dtype == made[name].dtype and torch.equal(tensor, made[name]), f'{name} differs from the source'
    return modules, error / energy


def ids_for(folder):
    config = json.loads((folder / 'config.json').read_text())
    return [i % config.get('text_config', config)['vocab_size'] for i in IDS]


def our_logits(program, folder, place):
    (place / 'ids.json').write_text(json.dumps(ids_for(folder)))
    subprocess.run([program, '--device', 'cpu', '--dtype', 'f32', '-q', '--model', folder, 'logits', '--ids', place / 'ids.json', '--out',
                    place / 'logits.npy'], check=True)
    return numpy.load(place / 'logits.npy').astype(numpy.float64)


def their_logits(folder, modules):
    model, info = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    for kind in ('missing_keys', 'unexpected_keys', 'mismatched_keys', 'error_msgs'):
        assert not info.get(kind), f'{kind}: {info[kind]}'
    config = config_of(folder)
    targets = [target for scheme in config.config_groups.values() for target in scheme.targets]
    named = {name for name, _ in match_named_modules(model, targets, config.ignore)}
    assert named == set(modules), f'targets name {sorted(named ^ set(modules))}'
    with torch.no_grad():
        return model.eval()(torch.tensor([ids_for(folder)])).logits[0].double().numpy()


def check(program, model, form, calibrate, place):
    out = place / 'out'
    command = [program, '--json', 'quantize', '--to', form, model, out]
    if calibrate:
        (place / 'text.txt').write_text(TEXT)
        command += ['--calibrate', place / 'text.txt']
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    modules, relative = compare_weights(tensors_of(model), tensors_of(out), config_of(out))
    assert len(modules) == report['matrices']
    assert abs(relative / report['relative_error'] - 1) < 1e-9, (relative, report['relative_error'])
    ours, theirs = our_logits(program, out, place), their_logits(out, modules)
    distance = ((ours - theirs) ** 2).sum() / (theirs ** 2).sum()
    assert distance < 1e-9, f'logits differ: {distance:.2e}'
    print(f'{model.name:12} {form:5} {"calibrated" if calibrate else "":10} {len(modules)} matrices, relative error {relative:.3e}, '
          f'logits {distance:.1e}', flush=True)


def main():
    program, *models = sys.argv[1:]
    for model in models:
        for form in ('fp8', 'int8', 'int4'):
            for calibrate in (False, True)[:1 + (pathlib.Path(model) / 'tokenizer.json').exists()]:
                with tempfile.TemporaryDirectory() as place:
                    check(pathlib.Path(program).resolve(), pathlib.Path(model), form, calibrate, pathlib.Path(place))


if __name__ == '__main__':
    main()
